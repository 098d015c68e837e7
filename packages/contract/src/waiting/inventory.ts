import { ArgumentError } from '@waybill/core'
import { isJsonObject } from '../schema/json.ts'

/** The number of waiting records of each event and version, as a fleet exports it for checks without a cluster. */
export interface WaitingInventory {
  readonly format: 'waybill-waiting/1'
  /** As `2026-12-31T08:00:00.000Z`. */
  readonly takenAt: string
  /** False if some places were not read to their end: further events or versions may wait. */
  readonly complete: boolean
  readonly counts: readonly InventoryCount[]
}

/** Waiting records of one event and version. */
export interface InventoryCount {
  readonly event: string
  readonly version: number
  readonly count: number
}

const format = 'waybill-waiting/1'

/**
 * Returns what a report says about numbers. Records that name no event are left out: no catalog reads them. So are records
 * that were unreadable before.
 */
export function inventoryOf(
  report: {
    readonly isComplete: boolean
    readonly counts: readonly {
      readonly event: string | null
      readonly version: number | null
      readonly count: number
      readonly knownUnreadable: number
    }[]
  },
  takenAt: Date,
): WaitingInventory {
  const counts = report.counts.flatMap(({ event, version, count, knownUnreadable }): InventoryCount[] =>
    event === null || version === null || count === knownUnreadable
      ? []
      : [{ event, version, count: count - knownUnreadable }],
  )
  return { format, takenAt: takenAt.toISOString(), complete: report.isComplete, counts }
}

/**
 * Reads an inventory.
 *
 * @throws {@link ArgumentError} for a text that is none.
 */
export function readInventory(path: string, text: string): WaitingInventory {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ArgumentError(`${path} is not JSON.`, { cause })
  }
  if (isInventory(value)) return value
  throw new ArgumentError(`${path} is no inventory of waiting records.`, {
    hint: `Write what inventoryOf returns: { "format": "${format}", "takenAt", "complete", "counts" }.`,
  })
}

function isInventory(value: unknown): value is WaitingInventory {
  if (!isJsonObject(value)) return false
  const { format: form, takenAt, complete, counts } = value as Readonly<Record<string, unknown>>
  return (
    form === format &&
    typeof takenAt === 'string' &&
    Number.isFinite(Date.parse(takenAt)) &&
    typeof complete === 'boolean' &&
    Array.isArray(counts) &&
    counts.every(isCount)
  )
}

function isCount(value: unknown): value is InventoryCount {
  if (!isJsonObject(value)) return false
  const { event, version, count } = value as Readonly<Record<string, unknown>>
  return (
    typeof event === 'string' &&
    [version, count].every((each) => Number.isSafeInteger(each)) &&
    Number(version) >= 1 &&
    Number(count) >= 0
  )
}
