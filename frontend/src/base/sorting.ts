// Rows in the order of a column. Pure.

export type SortKey = string | number | null;

export interface Order<Id extends string> {
  by: Id;
  isDown: boolean;
}

/** The rows by their keys; what has no value stands at the end in both directions, equal ones stay as they were. */
export function sorted<Row>(rows: readonly Row[], keyOf: (row: Row) => SortKey, isDown: boolean): Row[] {
  const direction = isDown ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: keyOf(row) }));
  keyed.sort((a, b) => {
    if (a.key === b.key) return 0;
    if (a.key === null || b.key === null) return a.key === null ? 1 : -1;
    return a.key < b.key ? -direction : direction;
  });
  return keyed.map(({ row }) => row);
}

/** The order after the header of a column was chosen: the other direction of the same one, else the useful one first. */
export function reorderedBy<Id extends string>(order: Order<Id>, by: Id, downFirst: ReadonlySet<Id>): Order<Id> {
  return order.by === by ? { by, isDown: !order.isDown } : { by, isDown: downFirst.has(by) };
}
