import type { StoredDeadLetter } from '@waybill/connector'
import { RecordHeaders, type WireRecord } from '@waybill/core'

/** The record of an event that was not applied, with its original key, value and headers. */
export type DeadEvent = Pick<WireRecord, 'key' | 'value' | 'headers'>

/**
 * Returns the events of dead letters: `deadEvents(connector.admin.deadLetters('balances', { by: 'anna' }))`. Its order does not matter to a
 * release.
 */
export async function* deadEvents(letters: AsyncIterable<StoredDeadLetter>): AsyncGenerator<DeadEvent> {
  for await (const { record } of letters) {
    const { key, value, headers } = record
    yield { key, value, headers: RecordHeaders.from(headers) }
  }
}
