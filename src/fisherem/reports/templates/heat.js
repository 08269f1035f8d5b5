// The heat maps: pointing at a cell says what it is, a click marks its variable and its row; names are buttons.
[["heat", "heat"], ["heat-all", "heatAll"]].forEach(function (map) {
  "use strict";
  const [id, key] = map;
  const data = Page.data, heat = data[key];
  if (!heat) return;
  const figure = Page.byId(id), tip = Page.byId(id + "-tip");
  const FIRST = "A".charCodeAt(0);
  const MIDDLE = 15; // the level of the overall mean

  function valueAt(line, column) {
    const level = heat.levels[line].charCodeAt(column) - FIRST;
    if (level > 2 * MIDDLE) return "missing";
    const away = ((level - MIDDLE) * heat.unit).toFixed(1).replace("-", "−");
    return `${away} standard deviations from the mean`;
  }

  // What the cells show: a line per row, as they stand in the picture.
  const shownAt = (line, column) => {
    const level = heat.levels[line].charCodeAt(column) - FIRST;
    return level > 2 * MIDDLE ? "" : ((level - MIDDLE) * heat.unit).toFixed(2);
  };
  Page.values[figure.dataset.values] = () => [
    ["row", "group", ...heat.tracks.map((track) => track.name), ...heat.variables.map((j) => data.names[j])],
    ...heat.places.map((row, column) => [
      data.ids[row], data.groups[data.group[row]].name, ...heat.tracks.map((track) => track.texts[column]),
      ...heat.variables.map((_, line) => shownAt(line, column)),
    ]),
  ];

  figure.querySelectorAll("svg.heat").forEach((svg) => {
    const area = svg.querySelector(".area"), names = [...svg.querySelectorAll(".pick")];
    const marker = Page.svg("rect", { class: "rowline", visibility: "hidden" }, svg);

    function cell(event) {
      const box = area.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * heat.places.length);
      const line = Math.floor(((event.clientY - box.top) / box.height) * heat.variables.length);
      const inside = column >= 0 && line >= 0 && column < heat.places.length && line < heat.variables.length;
      return inside ? { line: line, column: column, row: heat.places[column], variable: heat.variables[line] } : null;
    }

    area.addEventListener("pointermove", (event) => {
      const at = cell(event);
      if (!at) return;
      const around = figure.getBoundingClientRect();
      Page.showTip(tip, figure, event.clientX - around.left, event.clientY - around.top, [
        data.names[at.variable],
        `${data.ids[at.row]}, ${data.groups[data.group[at.row]].name}`,
        valueAt(at.line, at.column),
      ]);
    });
    area.addEventListener("pointerleave", () => { tip.hidden = true; });

    // The tracks above the cells: a line per annotation of the rows.
    const above = svg.querySelector(".trackarea");
    if (above) {
      above.addEventListener("pointermove", (event) => {
        const box = above.getBoundingClientRect(), around = figure.getBoundingClientRect();
        const column = Math.floor(((event.clientX - box.left) / box.width) * heat.places.length);
        const track = heat.tracks[Math.floor(((event.clientY - box.top) / box.height) * heat.tracks.length)];
        if (!track || column < 0 || column >= heat.places.length) return;
        const row = heat.places[column];
        Page.showTip(tip, figure, event.clientX - around.left, event.clientY - around.top, [
          `${track.name}: ${track.texts[column]}`,
          `${data.ids[row]}, ${data.groups[data.group[row]].name}`,
        ]);
      });
      above.addEventListener("pointerleave", () => { tip.hidden = true; });
    }
    area.addEventListener("click", (event) => {
      const at = cell(event);
      if (!at) return;
      const same = Marking.marked.variable === at.variable && Marking.marked.row === at.row;
      Marking.set("variable", same ? null : at.variable);
      Marking.set("row", same ? null : at.row);
    });

    // One stop for the tab key; arrow keys go from name to name.
    svg.addEventListener("keydown", (event) => {
      const here = names.indexOf(event.target.closest(".pick"));
      if (here < 0) return;
      const go = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: names.length - 1 }[event.key];
      if (event.key === "Enter" || event.key === " ") Marking.toggle("variable", heat.variables[here]);
      else if (go !== undefined && names[go]) {
        names[here].setAttribute("tabindex", "-1");
        names[go].setAttribute("tabindex", "0");
        names[go].focus();
      } else if (go === undefined) return;
      event.preventDefault();
    });

    Marking.listen(() => {
      const column = heat.places.indexOf(Marking.marked.row);
      marker.setAttribute("visibility", column < 0 ? "hidden" : "visible");
      if (column < 0) return;
      const number = (name) => Number(area.getAttribute(name)), width = number("width") / heat.places.length;
      marker.setAttribute("x", number("x") + column * width - 1);
      marker.setAttribute("y", number("y") - 3);
      marker.setAttribute("width", width + 2);
      marker.setAttribute("height", number("height") + 3);
    });
  });

  // The names of the rows, written when they are asked for: a map that is as wide as the names need, and scrolls.
  const names = Page.byId("heat-names"), named = figure.querySelector(".named");
  names.addEventListener("change", () => {
    figure.querySelector(".plain").hidden = names.checked;
    named.hidden = !names.checked;
    const svg = named.querySelector("svg"), area = svg.querySelector(".area");
    if (!names.checked || svg.querySelector(".rowname")) return;
    const number = (name) => Number(area.getAttribute(name)), width = number("width") / heat.places.length;
    const y = number("y") + number("height") + 6;
    heat.places.forEach((row, column) => {
      const x = number("x") + (column + 0.5) * width + 4, id = data.ids[row];
      const text = Page.svg("text", { x: x, y: y, transform: `rotate(90 ${x - 4} ${y})`, class: "rowname", "data-row": row }, svg);
      text.textContent = Page.shorten(id, 16);
    });
    Marking.show();
  });
});

// One map at a time: of the selected variables or of all.
(function () {
  "use strict";
  const which = Page.byId("heat-which");
  if (!which) return;
  which.addEventListener("change", () => ["heat", "heat-all"].forEach((id) => { Page.byId(id).hidden = id !== which.value; }));
})();
