import { WaybillError } from '@waybill/core'
import type { KafkaError } from '../../client/kafka-error.ts'
import type { OutRecord } from '../../client/types.ts'

/** A topic refuses for good what a handler sent in a transaction. Its record has failed with that. */
export class OutputRefusedError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTPUT_REFUSED'

  constructor(outputs: readonly OutRecord[], cause: KafkaError) {
    const topics = [...new Set(outputs.map(({ topic }) => topic))].join(', ')
    super(`What the handler sent to ${topics} is refused: ${whatHappened(cause)}`, {
      cause,
      kept: 'Nothing of it is written; the record goes to its tier or to the dead letters, as with any failure.',
      next: `${adviceFor(cause)} Then replay the record, if it is a dead letter by now.`,
    })
  }
}

/** Without what the client says of consequences and remedies: those of its caller are others. */
function whatHappened({ message, kept, next }: KafkaError): string {
  const rest = kept ?? next
  return rest === undefined ? message : message.slice(0, message.indexOf(rest)).trimEnd()
}

const smaller = 'Send smaller records, or raise max.message.bytes of the topic.'

const adviceByReason: Readonly<Record<string, string>> = {
  MESSAGE_TOO_LARGE: smaller,
  RECORD_LIST_TOO_LARGE: smaller,
  UNKNOWN_TOPIC_OR_PARTITION: 'Create the topic, or name a partition that it has.',
  TOPIC_AUTHORIZATION_FAILED: 'Allow this client to write to the topic.',
}

function adviceFor({ reason = '' }: KafkaError): string {
  return adviceByReason[reason] ?? 'Mend what the topic does not take.'
}
