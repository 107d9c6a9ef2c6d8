// Where the reader is, as the address says it: `#/`, `#/chat/ID`, `#/owner`.
export function here() {
  const [, name, id] = /^#\/(chat|owner)(?:\/([0-9a-f]+))?$/.exec(location.hash) ?? [];
  return name === "owner" ? { name, id: "" } : { name: "chat", id: id ?? "" };
}

export const address = ({ name, id }) => (name === "owner" ? "#/owner" : id ? `#/chat/${id}` : "#/");

export function go(place) {
  if (address(here()) !== address(place)) location.hash = address(place);
}

export function onPlace(act) {
  addEventListener("hashchange", () => act(here()));
  act(here());
}
