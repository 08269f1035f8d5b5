// What is marked on the page: at most one group, one row and one variable. Views call toggle() and listen() for changes.
const Marking = (function () {
  "use strict";
  Page.data = JSON.parse(Page.byId("data").textContent);
  const data = Page.data;
  const KINDS = ["row", "variable", "group"]; // the innermost first: a row of a table also has a group
  const marked = { group: null, row: null, variable: null };
  const listeners = [];
  const innermost = (node) => KINDS.find((kind) => kind in node.dataset);

  const words = {
    group: (k) => `${data.groups[k].name} (${data.groups[k].count.toLocaleString("en")} rows)`,
    row: (i) => `row ${data.ids[i]} (${data.groups[data.group[i]].name})`,
    variable: (j) => `variable ${data.names[j]}`,
  };

  // Everything that stands for a marked thing has the class "on-group", "on-row" or "on-variable"; buttons say so to
  // screen readers, each for the innermost thing that it stands for.
  function show() {
    for (const kind of KINDS) {
      document.body.classList.toggle("by-" + kind, marked[kind] !== null);
      document.querySelectorAll(`[data-${kind}]`).forEach((node) => {
        const on = marked[kind] !== null && node.dataset[kind] === String(marked[kind]);
        node.classList.toggle("on-" + kind, on);
        const button = node.hasAttribute("aria-pressed") ? node : node.querySelector("th > [aria-pressed]");
        if (button && kind === innermost(node)) button.setAttribute("aria-pressed", String(on));
      });
    }
    const said = KINDS.filter((kind) => marked[kind] !== null).map((kind) => words[kind](marked[kind]));
    if (marked.group !== null && Page.byId("split")) {
      const fill = (name, text) => Page.byId("split").querySelectorAll(".split-" + name).forEach((node) => { node.textContent = text; });
      fill("name", data.groups[marked.group].name);
      fill("number", marked.group + 1);
    }
    Page.byId("marked-text").textContent = said.length ? "Marked: " + said.join(", ") : "";
    Page.byId("marked").hidden = !said.length;
  }

  function update(kind) {
    listeners.forEach((listener) => listener(kind, marked));
    show();
  }

  function toggle(kind, value) {
    marked[kind] = marked[kind] === value ? null : value;
    update(kind);
  }

  function set(kind, value) {
    marked[kind] = value;
    update(kind);
  }

  function clear() {
    if (KINDS.every((kind) => marked[kind] === null)) return;
    KINDS.forEach((kind) => { marked[kind] = null; });
    update(null);
  }

  document.body.classList.add("linked");
  document.addEventListener("click", (event) => {
    const node = event.target.closest("[data-row], [data-variable], [data-group]");
    if (!node || node.closest("#plot") || !getSelection().isCollapsed) return; // the plot listens for itself
    const kind = innermost(node);
    toggle(kind, Number(node.dataset[kind]));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") clear();
  });
  Page.byId("marked-clear").addEventListener("click", clear);

  return { marked: marked, toggle: toggle, set: set, clear: clear, show: show, listen: (listener) => listeners.push(listener) };
})();
