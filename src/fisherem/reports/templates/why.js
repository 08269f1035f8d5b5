// Why the marked row is in its group: a bar per variable, which add up to the log-odds against the next group.
(function () {
  "use strict";
  const data = Page.data, panel = Page.byId("why");
  if (!panel) return;
  const body = Page.byId("why-body");
  const number = (value) => (value > 0 ? "+" : "") + value.toFixed(2).replace("-", "\u2212");

  function line(name, value, largest, variable) {
    const row = document.createElement("tr");
    if (variable !== null) row.dataset.variable = variable;
    const head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    head.className = "wrap";
    head.textContent = name;
    const cell = row.appendChild(document.createElement("td"));
    cell.className = "n";
    cell.dataset.value = value;
    const bar = cell.appendChild(document.createElement("span"));
    bar.className = "bar";
    const filled = bar.appendChild(document.createElement("i"));
    filled.className = value < 0 ? "neg" : "pos";
    filled.style.width = (50 * Math.abs(value)) / largest + "%";
    const text = cell.appendChild(document.createElement("span"));
    text.className = "weight";
    text.textContent = number(value);
    return row;
  }

  // The smallest change that would move the row, and the largest interaction of two variables, in words.
  function move(i) {
    const change = data.why.moves[i];
    if (data.placed && data.placed[i] !== data.group[i]) return `The selected variables would place it in ${data.groups[data.placed[i]].name}.`;
    if (!change) return "No change of a single selected variable would move it.";
    return `With ${data.why.moved[change[0]]} at ${change[2]} instead of ${change[1]}, it would be in ${change[3]}.`;
  }
  function pair(i) {
    if (!data.why.pairs || !data.why.pairs[i][2]) return "";
    const [one, other, value] = data.why.pairs[i];
    return `The largest such term is that of ${data.why.names[one]} with ${data.why.names[other]}, ${number(value)}.`;
  }

  function show(i) {
    const bars = i === null ? null : data.why.rows[i];
    panel.hidden = Page.byId("marked-why").hidden = i === null;
    if (i === null) return;
    const group = data.groups[data.group[i]].name, next = data.groups[data.second[i]].name;
    Page.byId("why-title").textContent = data.placed
      ? `What speaks for row ${data.ids[i]} being in ${group} and not in ${next}`
      : `Why row ${data.ids[i]} is in ${group} and not in ${next}`;
    const said = Page.byId("why-pair"); // only where pairs of variables have terms
    if (said) said.textContent = bars ? pair(i) : "";
    Page.byId("why-move").textContent = bars ? move(i) : "";
    Page.byId("why-odds").textContent = bars ? number(bars.reduce((a, b) => a + b, 0)) : "not computed for this row, which has missing cells or is beyond the limit of this page";
    if (!bars) return body.replaceChildren();
    const largest = Math.max(...bars.map(Math.abs)) || 1, m = data.why.names.length;
    const lines = data.why.names.map((name, j) => [name, bars[j], data.why.variables[j]]);
    lines.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    if (bars[m]) lines.push(["other variables", bars[m], null]);
    lines.push(["baseline", bars[m + 1], null]);
    body.replaceChildren(...lines.map(([name, value, variable]) => line(name, value, largest, variable)));
  }

  Marking.listen((kind, marked) => {
    if (kind === "row" || kind === null) show(marked.row);
  });
})();
