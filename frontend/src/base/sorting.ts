// Sorts the rows of a table by a column. Pure.

export type SortKey = string | number | null;

export interface Order<Id extends string> {
  by: Id;
  isDown: boolean;
}

/** The rows sorted by their keys: stable, with rows without a value at the end in both directions. */
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

/** The order after a click on a header: the sorted column in the other direction; another column in its more useful direction. */
export function reorderedBy<Id extends string>(order: Order<Id>, by: Id, downFirst: ReadonlySet<Id>): Order<Id> {
  return order.by === by ? { by, isDown: !order.isDown } : { by, isDown: downFirst.has(by) };
}
