import { WaybillError } from '@waybill/core'
import type { OutRecord } from '../../client/types.ts'

/** A topic refuses for good what a handler sent in a transaction. Its record has failed with that. */
export class OutputRefusedError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTPUT_REFUSED'

  constructor(outputs: readonly OutRecord[], cause: Error) {
    const topics = [...new Set(outputs.map(({ topic }) => topic))].join(', ')
    super(`What the handler sent to ${topics} is refused: ${cause.message}`, {
      cause,
      kept: 'Nothing of it is written; the record goes to its tier or to the dead letters, as with any failure.',
      next: 'Create the topic, allow this client to write to it, or send smaller records; then replay the dead letter.',
    })
  }
}
