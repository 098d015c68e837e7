import type { Buffer } from 'node:buffer'
import type { DeadLetterReplay, SelectedDeadLetter } from '@waybill/connector/internal'

/** The counts that a plan shows, as JSON. */
export interface SelectionCounts {
  readonly scanned: string
  /** Selected by the filter. */
  readonly matched: string
  readonly eligible: string
  readonly refused: Readonly<Record<string, string>>
  /** Different keys, at most 100,000 of them. */
  readonly keys: string
  readonly largestKeyRecords: string
  readonly bytes: string
  /** The first positions. */
  readonly sample: readonly string[]
}

const maxKeys = 100_000
const maxSample = 10

/** Returns those of a batch that a run would take: the others are handled already. */
export type OpenAmong = (selected: readonly SelectedDeadLetter[]) => Promise<readonly SelectedDeadLetter[]>

/**
 * Reads a selection without an effect, and counts what it would send.
 * @param openAmong - undefined: states are not known, and a run would take all
 */
export async function countSelection(
  replay: Pick<DeadLetterReplay, 'next'>,
  openAmong: OpenAmong | undefined,
): Promise<SelectionCounts> {
  let [scanned, eligible, bytes] = [0, 0, 0]
  const refused = new Map<string, number>()
  const keys = new Map<string, number>()
  const sample: string[] = []
  for (let batch = await replay.next(1_000); batch !== undefined; batch = await replay.next(1_000)) {
    scanned += batch.scanned
    for (const { reason } of batch.refused) refused.set(reason, (refused.get(reason) ?? 0) + 1)
    const open = (await openAmong?.(batch.selected)) ?? batch.selected
    const handled = batch.selected.length - open.length
    if (handled > 0) refused.set('NOT_OPEN', (refused.get('NOT_OPEN') ?? 0) + handled)
    for (const one of open) {
      eligible++
      bytes += one.bytes
      const key = keyOf(one.key)
      if (keys.has(key) || keys.size < maxKeys) keys.set(key, (keys.get(key) ?? 0) + 1)
      if (sample.length < maxSample) sample.push(`${one.topic}:${one.partition}:${one.offset}`)
    }
  }
  const refusedCount = [...refused.values()].reduce((sum, count) => sum + count, 0)
  return {
    scanned: String(scanned),
    matched: String(eligible + refusedCount),
    eligible: String(eligible),
    refused: Object.fromEntries(Array.from(refused, ([reason, count]) => [reason, String(count)])),
    keys: String(keys.size),
    largestKeyRecords: String([...keys.values()].reduce((most, count) => Math.max(most, count), 0)),
    bytes: String(bytes),
    sample,
  }
}

function keyOf(key: Buffer | null): string {
  return key === null ? 'null' : `k${key.toString('latin1')}`
}
