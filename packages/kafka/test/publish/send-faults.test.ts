import { readFileSync } from 'node:fs'
import { StateError } from '@waybill/core'
import { type ErrorName, errorCode, TransportError } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { KafkaError, type KafkaErrorScope, kafkaError, toKafkaError } from '../../src/client/cluster/kafka-error.ts'
import { closedError, lateError, lostAnswerError, unencodableError } from '../../src/client/producer/send-error.ts'
import { describeSendFailure, faultOf, sendFaults } from '../../src/publish/send-faults.ts'

const names = (Object.keys(errorCode) as ErrorName[]).filter((name) => name !== 'NONE')
const partition = { topic: 'orders', partition: 3 }
const tooLarge = kafkaError('Cannot write', errorCode.MESSAGE_TOO_LARGE)
const noNode = new KafkaError('No node answers.', 'RETRIABLE', { scope: 'CLUSTER' })

/** Returns the codes that the page lists behind each part at fault. */
function documented(): Record<string, string> {
  const page = readFileSync(new URL('../../../../docs/reference/publish-failures.md', import.meta.url), 'utf8')
  const rows = page.matchAll(/^\| (RECORD|PARTITION|TOPIC|CLUSTER) \|.*\| (`[A-Z_`, ]+) \|$/gm)
  return Object.fromEntries(
    Array.from(rows, ([, fault = '', list = '']) =>
      Array.from(list.matchAll(/[A-Z_]+/g), ([name]) => [name, fault] as const),
    ).flat(),
  )
}

describe('the fault of a failed send', () => {
  test.each(names)('is decided for the code %s', (name) => {
    expect(faultOf(kafkaError('Cannot write', errorCode[name]))).toBe(sendFaults[name])
  })

  test('is documented for every code', () => {
    expect(documented()).toEqual(sendFaults)
  })

  test('is the record only when no retry can succeed', () => {
    const ofRecord = names.filter((name) => faultOf(kafkaError('Cannot write', errorCode[name])) === 'RECORD')
    expect(ofRecord).toEqual(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD'])
  })

  test.each<[string, unknown, KafkaErrorScope | undefined]>([
    ['a code that the client does not know', kafkaError('Cannot write', 9_999), 'PARTITION'],
    ['a leader that does not answer', new KafkaError('No answer.', 'UNKNOWN'), 'PARTITION'],
    ['a connection refused', toKafkaError('Produce', new TransportError('refused', 'NOT_SENT')), 'PARTITION'],
    ['a timeout without a reason', lateError('Late.', undefined), 'PARTITION'],
    ['a timeout while no node answers', lateError('Late.', noNode), 'CLUSTER'],
    ['a timeout of a refused write', lateError('Late.', kafkaError('', errorCode.NOT_ENOUGH_REPLICAS)), 'PARTITION'],
    ['a timeout of a forbidden topic', lateError('Late.', kafkaError('', 29)), 'TOPIC'],
    ['a lost response while no node answers', lostAnswerError(partition, noNode), 'CLUSTER'],
    ['a lost response before another record was refused', lostAnswerError(partition, tooLarge), 'PARTITION'],
    ['a record that breaks its transaction', new KafkaError('', 'ABORTABLE', { cause: tooLarge }), 'RECORD'],
    ['a record that cannot be encoded', unencodableError(partition, new RangeError('length')), 'RECORD'],
    ['a closed producer', closedError(), 'CLUSTER'],
    ['a closed client', new StateError('The Kafka client is closed.'), 'CLUSTER'],
    ['an error that is not one of the client', new TypeError('x'), undefined],
  ])('of %s', (_, error, fault) => {
    expect(faultOf(error)).toBe(fault)
  })
})

describe('the description of a failed send', () => {
  test('names the cause once, and not the transaction that it broke', () => {
    const cause = new KafkaError('orders-3 has no leader.', 'RETRIABLE', { hint: 'Wait.' })
    const late = lateError('No write to orders-3 within 30 ms.', cause)
    const broken = new KafkaError('A transaction cannot be committed.', 'ABORTABLE', { cause: late })
    expect(describeSendFailure(broken)).toBe('No write to orders-3 within 30 ms. orders-3 has no leader.')
    expect(describeSendFailure(lostAnswerError(partition, cause))).toBe(
      'The response to a write to orders-3 is lost. orders-3 has no leader.',
    )
  })

  test('takes an error of the client as it is', () => {
    expect(describeSendFailure(new StateError('The Kafka client is closed.'))).toBe('The Kafka client is closed.')
  })
})
