// The table of rows: searched, filtered by group, sorted by any column, shown a page at a time.
(function () {
  "use strict";
  const data = Page.data;
  const SIZE = 25;
  const body = Page.byId("row-body"), search = Page.byId("row-search"), only = Page.byId("row-group");
  const heads = [...document.querySelectorAll("#row-table thead button")];
  const state = { key: "row", down: false, page: 0, found: [] };
  const natural = new Intl.Collator("en", { numeric: true });

  // The columns: the value to sort by and the text to show, of row i of the lists.
  const percent = (share) => Math.round(100 * share) + "%";
  const columns = {
    row: { value: (i) => data.row[i], text: (i) => data.row[i].toLocaleString("en") },
    id: { value: (i) => data.ids[i], text: (i) => data.ids[i] },
    group: { value: (i) => data.group[i], text: (i) => data.groups[data.group[i]].name },
    posterior: { value: (i) => data.posterior[i], text: (i) => data.posterior[i].toFixed(3) },
    second: {
      value: (i) => data.second[i],
      text: (i) => (data.second[i] < 0 || data.secondPosterior[i] < 0.0005 ? "–" : data.groups[data.second[i]].name),
    },
    tail: { value: (i) => data.tail[i], text: (i) => (data.tail[i] < 0.001 ? "<0.001" : data.tail[i].toFixed(3)) },
    back: { value: (i) => data.reproducibility[i], text: (i) => percent(data.reproducibility[i]) },
    placed: { value: (i) => data.placed[i], text: (i) => data.groups[data.placed[i]].name },
    inside: {
      value: (i) => data.subgroup[i],
      text: (i) => (data.subgroup[i] < 0 ? "–" : data.subgroups[data.subgroup[i]].name),
    },
    known: { value: (i) => data.classes[i], text: (i) => data.classes[i] || "–" },
  };
  const shown = heads.map((button) => button.dataset.key);

  function compare(a, b) {
    const value = columns[state.key].value;
    const x = value(a), y = value(b);
    const order = typeof x === "string" ? natural.compare(x, y) : x - y;
    return (state.down ? -order : order) || data.row[a] - data.row[b];
  }

  const haystack = data.ids.map((id, i) => `${id} ${data.classes ? data.classes[i] : ""}`.toLowerCase());

  function find() {
    const wanted = search.value.trim().toLowerCase(), group = only.value;
    state.found = [];
    for (let i = 0; i < data.ids.length; i++)
      if ((group === "" || data.group[i] === Number(group)) && haystack[i].includes(wanted)) state.found.push(i);
    state.found.sort(compare);
    state.page = 0;
    draw();
  }

  // The mark and the name of group k; a phone leaves out the word.
  function groupIn(cell, k) {
    const g = data.groups[k], [word, number] = g.own ? ["", g.name] : g.name.split(" ");
    const svg = Page.svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "key" });
    const kind = `mark g${g.colour}${g.hollow ? " hollow" : ""}`;
    Page.svg("use", { href: "#m" + g.shape, transform: "translate(8,8)", class: kind }, svg);
    const spelled = document.createElement("span");
    spelled.className = "word";
    spelled.textContent = word;
    cell.append(svg, " ", spelled, " " + number);
  }

  function line(i) {
    const row = document.createElement("tr");
    row.dataset.row = i;
    row.dataset.group = data.group[i];
    shown.forEach((key) => {
      const cell = row.appendChild(document.createElement(key === "id" ? "th" : "td"));
      const text = columns[key].text(i);
      if (key === "id") {
        cell.scope = "row";
        const button = cell.appendChild(document.createElement("button"));
        button.type = "button";
        button.className = "plain";
        button.setAttribute("aria-pressed", "false");
        button.textContent = text;
        return;
      }
      const k = { group: data.group[i], second: text === "–" ? -1 : data.second[i], placed: data.placed && data.placed[i] }[key];
      if (k >= 0) groupIn(cell, k);
      else cell.append(text);
      if (["row", "posterior", "tail", "back"].includes(key)) cell.className = "n";
    });
    return row;
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(state.found.length / SIZE));
    const first = state.page * SIZE, part = state.found.slice(first, first + SIZE);
    body.replaceChildren(...part.map(line));
    const many = (n) => n.toLocaleString("en");
    Page.byId("row-count").textContent = part.length
      ? `Rows ${many(first + 1)} to ${many(first + part.length)} of ${many(state.found.length)}`
      : "No matching rows";
    Page.byId("row-before").disabled = state.page === 0;
    Page.byId("row-after").disabled = state.page >= pages - 1;
    heads.forEach((button) => {
      const sorted = button.dataset.key === state.key;
      button.closest("th").setAttribute("aria-sort", !sorted ? "none" : state.down ? "descending" : "ascending");
    });
    Marking.show();
  }

  const turn = (step) => {
    state.page += step;
    draw();
  };
  search.addEventListener("input", find);
  only.addEventListener("change", find);
  Page.byId("row-before").addEventListener("click", () => turn(-1));
  Page.byId("row-after").addEventListener("click", () => turn(1));
  heads.forEach((button) =>
    button.addEventListener("click", () => {
      state.down = button.dataset.key === state.key && !state.down;
      state.key = button.dataset.key;
      find();
    })
  );

  // A row that was marked elsewhere is brought into view.
  Marking.listen((kind, marked) => {
    const place = kind === "row" && marked.row !== null ? state.found.indexOf(marked.row) : -1;
    if (place >= 0 && Math.floor(place / SIZE) !== state.page) {
      state.page = Math.floor(place / SIZE);
      draw();
    }
  });

  // A cell of the saved table: numbers with all their digits, nothing for a dash.
  function file(key, i) {
    const value = columns[key].value(i), text = columns[key].text(i);
    return typeof value === "number" && !["group", "second", "placed", "inside"].includes(key) ? String(value) : text.replace(/^–$/, "");
  }

  Page.rowsAsText = () => [
    heads.map((button) => button.textContent.trim()),
    ...state.found.map((i) => shown.map((key) => file(key, i))),
  ];
  // What the scatter draws: the coordinates of its rows, which stand first in all lists.
  Page.values.subspace = () => [
    ["row", "group", ...data.axes.map((_, j) => `axis ${j + 1}`)],
    ...data.axes[0].map((_, i) => [data.ids[i], data.groups[data.group[i]].name, ...data.axes.map((axis) => axis[i])]),
  ];
  find();
})();
