import { Buffer } from 'node:buffer'
import { type KafkaClient, KafkaError, type KafkaRecord } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { readDeadLetter } from '../../src/records/dead-letter-record.ts'
import { withParkedParts } from '../../src/replay/parked-parts.ts'
import { fetched, textRecord } from '../records/fetched.ts'

const letter = readDeadLetter(
  fetched(
    textRecord(
      'orders.DLT',
      [
        ['x-eventbus-original-topic', 'orders'],
        ['x-eventbus-original-partition', '0'],
        ['x-eventbus-original-offset', '7'],
        ['x-eventbus-original-timestamp', '1000'],
        ['x-eventbus-dlt-parked', 'value'],
      ],
      null,
    ),
  ),
)

const close = (): Promise<void> => Promise.resolve()

/** Answers with the record at the original offset. */
function clientWith(next: () => Promise<readonly KafkaRecord[] | undefined>): Pick<KafkaClient, 'reader'> {
  return { reader: () => ({ next, close, [Symbol.asyncDispose]: close }) }
}

const original = fetched(textRecord('orders', [], 'whole'), { offset: 7n, timestamp: 1_000 })

test('a dead letter has the parked value of its original', async () => {
  const whole = await withParkedParts(
    letter,
    clientWith(async () => [original]),
  )
  expect(String(whole?.record.value)).toBe('whole')
})

test.each([
  ['another timestamp', fetched(textRecord('orders'), { offset: 7n, timestamp: 1_001 })],
  ['another key', fetched({ ...textRecord('orders'), key: Buffer.from('other') }, { offset: 7n, timestamp: 1_000 })],
])('a record with %s at the original offset is not the original', async (_, record) => {
  expect(
    await withParkedParts(
      letter,
      clientWith(async () => [record]),
    ),
  ).toBeUndefined()
})

test('an original that cannot be read now is not taken for a missing one', async () => {
  const away = new KafkaError('away', 'RETRIABLE')
  await expect(
    withParkedParts(
      letter,
      clientWith(() => Promise.reject(away)),
    ),
  ).rejects.toBe(away)
  const gone = new KafkaError('gone', 'FATAL', { reason: 'UNKNOWN_TOPIC_OR_PARTITION' })
  expect(
    await withParkedParts(
      letter,
      clientWith(() => Promise.reject(gone)),
    ),
  ).toBeUndefined()
})
