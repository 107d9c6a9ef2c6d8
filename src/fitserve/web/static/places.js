// Where the reader is, as the address says it: `#/`, `#/chat/ID`, `#/owner`.
export function here() {
  const [, name, id] = /^#\/(chat|owner)(?:\/([0-9a-f]+))?$/.exec(location.hash) ?? [];
  return name === "owner" ? { name, id: "" } : { name: "chat", id: id ?? "" };
}

export const address = ({ name, id }) => (name === "owner" ? "#/owner" : id ? `#/chat/${id}` : "#/");

let act = () => {};

// At once: a question that is sent in the next moment must not go to the place before.
export function go(place) {
  if (address(here()) === address(place)) return;
  history.pushState(null, "", address(place));
  act(place);
}

export function onPlace(toAct) {
  act = toAct;
  addEventListener("hashchange", () => act(here()));
  act(here());
}
