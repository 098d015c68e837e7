import type { KafkaRecord } from '@waybill/kafka'
import type { StoredDeadLetter } from '../api/dead-letter-types.ts'
import { jsonSafe } from '../api/json-safe.ts'
import { type DeadLetterReading, readDeadLetter } from '../records/dead-letter-record.ts'

/** Returns the time in the dead letter's headers; without one, the record's timestamp. */
export function deadAtOf({ deadAtMs }: DeadLetterReading, { timestamp }: Pick<KafkaRecord, 'timestamp'>): number {
  return deadAtMs ?? timestamp
}

/** Returns a dead letter as operators see it. */
export function storedDeadLetter(letter: DeadLetterReading, record: KafkaRecord): StoredDeadLetter {
  const { topic, partition, offset } = record
  const { consumerGroup, replayCount } = letter
  const deadAtMs = deadAtOf(letter, record)
  return jsonSafe({ topic, partition, offset, deadAtMs, consumerGroup, replayCount, record: letter.record })
}

/** Returns the dead letter in a record of a dead letter topic, in any known format. Never throws. */
export function readStoredDeadLetter(record: KafkaRecord): StoredDeadLetter {
  return storedDeadLetter(readDeadLetter(record), record)
}
