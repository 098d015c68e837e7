import { type ErrorContext, WaybillError } from '@waybill/core'
import type { KafkaError, OutRecord } from '@waybill/kafka'
import { isOfContent } from '@waybill/kafka/internal'

/** A topic refuses an output of a transactional handler until the cause is fixed. The record has failed. */
export class OutputRefusedError extends WaybillError {
  // Typed as string: a subclass has a code of its own.
  static override readonly code: string = 'WAYBILL_OUTPUT_REFUSED'

  constructor(
    outputs: readonly OutRecord[],
    cause: KafkaError,
    advice: Omit<ErrorContext, 'cause'> = adviceFor(cause),
  ) {
    const topics = [...new Set(outputs.map(({ topic }) => topic))].join(', ')
    // Without the impact and hint of the client's error: those of this error differ.
    super(`What the handler sent to ${topics} is refused: ${cause.happened}`, { cause, ...advice })
  }
}

/** A topic refuses an output because of its content: it would be refused again. */
export class OutputUnacceptableError extends OutputRefusedError {
  static override readonly code = 'WAYBILL_OUTPUT_UNACCEPTABLE'

  constructor(outputs: readonly OutRecord[], cause: KafkaError) {
    super(outputs, cause, {
      impact:
        'Nothing of it is written. The record is not tried again, since the same would be refused the next time too.',
      hint: `${remedyFor(cause)} Then replay the record.`,
    })
  }
}

/** Returns the failure of a record whose outputs a topic refused. */
export function refusedOutputs(outputs: readonly OutRecord[], cause: KafkaError): OutputRefusedError {
  // A refused batch is split until the refused record is alone, so no other record shares its refusal.
  return isOfContent(cause) ? new OutputUnacceptableError(outputs, cause) : new OutputRefusedError(outputs, cause)
}

function adviceFor(cause: KafkaError): Omit<ErrorContext, 'cause'> {
  return {
    impact: 'Nothing of it is written; the record goes to its tier or to the dead letters, as with any failure.',
    hint: `${remedyFor(cause)} Then replay the record, if it is a dead letter by now.`,
  }
}

const smaller = 'Send smaller records, or raise max.message.bytes of the topic.'

const remedies: Readonly<Record<string, string>> = {
  MESSAGE_TOO_LARGE: smaller,
  RECORD_LIST_TOO_LARGE: smaller,
  INVALID_RECORD: 'Send what the topic takes: a compacted one needs keys.',
  INVALID_TIMESTAMP: 'Send what the topic takes: its settings say how far a time may be from that of the broker.',
  UNKNOWN_TOPIC_OR_PARTITION: 'Create the topic, or name a partition that it has.',
  TOPIC_AUTHORIZATION_FAILED: 'Allow this client to write to the topic.',
}

function remedyFor({ reason = '' }: KafkaError): string {
  return remedies[reason] ?? 'Fix what the topic refuses.'
}
