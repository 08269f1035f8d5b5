// The heat map: pointing at a cell says what it is, a click marks its variable and its row; names are buttons.
(function () {
  "use strict";
  const data = Page.data, heat = data.heat;
  if (!heat) return;
  const figure = Page.byId("heat"), tip = Page.byId("heat-tip");
  const FIRST = "A".charCodeAt(0);
  const MIDDLE = 15; // the level of the overall mean

  function valueAt(line, column) {
    const level = heat.levels[line].charCodeAt(column) - FIRST;
    if (level > 2 * MIDDLE) return "missing";
    const away = ((level - MIDDLE) * heat.unit).toFixed(1).replace("-", "−");
    return `${away} standard deviations from the mean`;
  }

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
})();
