import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { heldRows } from '../format/held-rows.ts'
import { compareDigits } from '../format/number.ts'
import { useKeys } from '../state/keys.ts'
import type { SortOrder } from '../state/query-codec.ts'
import { text } from '../text/parts.ts'

/** A column of a table. The first one heads its row. */
export interface Column<T> {
  readonly id: string
  readonly title: string
  /** Explains the heading. */
  readonly hint?: string
  /** Numbers end at the same edge. */
  readonly align?: 'end'
  /** Sorts by this, decimal digits by their value; absent: the column cannot be sorted. */
  readonly sortBy?: (row: T) => string | number | null | undefined
  readonly cell: (row: T) => ComponentChildren
  readonly className?: string
}

/** The rows that a document holds at most. */
const maxRows = 300

/** A table: sortable by its headings, with keys for its rows. Rows stay where they are under the pointer. */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  sort,
  onSort,
  empty,
  more,
  hasKeys = false,
  rowClass,
}: {
  /** The name for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  readonly sort?: SortOrder | undefined
  readonly onSort?: ((order: SortOrder) => void) | undefined
  readonly empty?: ComponentChildren
  /** Below the rows: the next page. */
  readonly more?: ComponentChildren
  /** Whether `j`, `k` and Enter walk its rows: the main table of a page. */
  readonly hasKeys?: boolean
  readonly rowClass?: ((row: T) => string | undefined) | undefined
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [order, setOrder] = useState<readonly string[] | undefined>(undefined)
  const sorted = sortRows(rows, columns, sort).slice(0, maxRows)
  const { shown, waiting } = heldRows(sorted, keyOf, order)
  const hold = (): void => setOrder((before) => before ?? sorted.map(keyOf))
  const release = (): void => {
    const { current } = box
    if (current !== null && (current.matches(':hover') || current.contains(document.activeElement))) return
    setOrder(undefined)
  }
  // Another order, or a filter, is the wish of the user: it is not held back.
  useEffect(() => setOrder(undefined), [sort?.column, sort?.isDescending])
  useRowKeys(caption, box, hasKeys, () => setOrder(undefined))
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>
  return (
    <div
      ref={box}
      class="table-box"
      role="region"
      aria-label={caption}
      tabIndex={0}
      onPointerEnter={hold}
      onPointerLeave={release}
      onFocusCapture={hold}
      onBlurCapture={() => queueMicrotask(release)}
    >
      {waiting > 0 ? (
        <button type="button" class="new-rows" onClick={() => setOrder(sorted.map(keyOf))}>
          {text.newRows(waiting)}
        </button>
      ) : null}
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={keyOf(row)} data-row={keyOf(row)} tabIndex={hasKeys ? -1 : undefined} class={rowClass?.(row)}>
              {columns.map(({ id, cell, align, className }, at) => {
                const classes = [align, className].filter((one) => one !== undefined).join(' ')
                return at === 0 ? (
                  <th key={id} scope="row" class={classes}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={id} class={classes}>
                    {cell(row)}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > maxRows ? <p class="muted table-foot">{text.tooManyRows(maxRows, rows.length)}</p> : null}
      {more === undefined ? null : <div class="table-foot">{more}</div>}
    </div>
  )
}

function Heading<T>({
  column: { id, title, hint, align, sortBy, className },
  sort,
  onSort,
}: {
  readonly column: Column<T>
  readonly sort: SortOrder | undefined
  readonly onSort: ((order: SortOrder) => void) | undefined
}): JSX.Element {
  const classes = [align, className].filter((one) => one !== undefined).join(' ')
  if (sortBy === undefined || onSort === undefined)
    return (
      <th scope="col" class={classes} title={hint}>
        {title}
      </th>
    )
  const isSorted = sort?.column === id
  const direction = isSorted ? (sort.isDescending ? 'descending' : 'ascending') : 'none'
  return (
    <th scope="col" class={classes} aria-sort={direction} title={hint}>
      <button
        type="button"
        class="sort"
        onClick={() => onSort({ column: id, isDescending: isSorted ? !sort.isDescending : align === 'end' })}
      >
        {title}
        <span class="sort-mark" aria-hidden="true">
          {isSorted ? (sort.isDescending ? '↓' : '↑') : ''}
        </span>
      </button>
    </th>
  )
}

function sortRows<T>(rows: readonly T[], columns: readonly Column<T>[], sort: SortOrder | undefined): readonly T[] {
  const sortBy = columns.find(({ id }) => id === sort?.column)?.sortBy
  if (sort === undefined || sortBy === undefined) return rows
  const sign = sort.isDescending ? -1 : 1
  return rows.toSorted((one, other) => compareValues(sortBy(one), sortBy(other), sign))
}

/** Unknown values come last, whatever the direction. */
function compareValues(
  one: string | number | null | undefined,
  other: string | number | null | undefined,
  sign: number,
): number {
  const [isFirst, isSecond] = [one ?? undefined, other ?? undefined]
  if (isFirst === undefined || isSecond === undefined)
    return Number(isFirst === undefined) - Number(isSecond === undefined)
  if (typeof isFirst === 'number' && typeof isSecond === 'number') return sign * (isFirst - isSecond)
  const [left, right] = [String(isFirst), String(isSecond)]
  if (/^\d+$/.test(left) && /^\d+$/.test(right)) return sign * compareDigits(left, right)
  return sign * left.localeCompare(right)
}

function useRowKeys(
  caption: string,
  box: { readonly current: HTMLDivElement | null },
  isOn: boolean,
  onLeave: () => void,
): void {
  const move = (by: number): void => {
    const rows = [...(box.current?.querySelectorAll<HTMLElement>('tr[data-row]') ?? [])]
    const at = rows.findIndex((row) => row.contains(document.activeElement))
    const next = rows[at === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))]
    next?.focus()
    next?.scrollIntoView({ block: 'nearest' })
  }
  useKeys(
    caption,
    isOn
      ? [
          { keys: 'j', label: text.keyNext, run: () => move(1) },
          { keys: 'k', label: text.keyPrevious, run: () => move(-1) },
          {
            keys: 'Enter',
            label: text.keyOpen,
            run: () => focusedRow(box)?.querySelector<HTMLElement>('a[href]')?.click(),
          },
          {
            keys: 'Escape',
            label: text.keyLeave,
            run: () => {
              focusedRow(box)?.blur()
              onLeave()
            },
          },
        ]
      : [],
  )
}

function focusedRow(box: { readonly current: HTMLDivElement | null }): HTMLElement | undefined {
  const row = document.activeElement?.closest<HTMLElement>('tr[data-row]')
  return row !== null && row !== undefined && box.current?.contains(row) === true ? row : undefined
}

/** Returns the key of the row that has the focus: for keys that act on a row. */
export function focusedRowKey(): string | undefined {
  return document.activeElement?.closest<HTMLElement>('tr[data-row]')?.dataset['row']
}
