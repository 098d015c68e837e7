import { createExceptionClassifier } from '@waybill/core'
import { failureKindOf } from '@waybill/core/internal'
import { KafkaError } from '@waybill/kafka'
import { kindOf } from '@waybill/kafka/internal'
import { type ErrorName, errorCode } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import {
  OutputRefusedError,
  OutputUnacceptableError,
  refusedOutputs,
} from '../../../src/partition/transaction/output-refused-error.ts'

const output = { topic: 'shipments', key: null, value: null }

function refusalFor(reason: string | undefined, what = 'It was refused.'): OutputRefusedError {
  const cause = new KafkaError(what, 'FATAL', {
    impact: 'The record was not written.',
    hint: 'Send it again.',
    ...(reason === undefined ? {} : { reason }),
  })
  return refusedOutputs([output, output], cause)
}

describe('an output that its topic refuses, and may take once somebody has mended that', () => {
  test.each([
    ['UNKNOWN_TOPIC_OR_PARTITION', 'Create the topic, or name a partition that it has.'],
    ['TOPIC_AUTHORIZATION_FAILED', 'Allow this client to write to the topic.'],
    [undefined, 'Fix what the topic refuses.'],
  ])('(%s) has one advice, which is for whoever runs the binding, and is tried again', (reason, advice) => {
    const refusal = refusalFor(reason)
    expect(refusal.message).toBe(
      'What the handler sent to shipments is refused: It was refused. Nothing of it is written; the record goes to its ' +
        `tier or to the dead letters, as with any failure. ${advice} Then replay the record, if it is a dead letter by now.`,
    )
    expect([refusal.code, failureKindOf(refusal)]).toEqual(['WAYBILL_OUTPUT_REFUSED', 'UNKNOWN'])
  })
})

describe('an output that its topic will never take', () => {
  const smaller = 'Send smaller records, or raise max.message.bytes of the topic.'
  test.each([
    ['MESSAGE_TOO_LARGE', smaller],
    ['RECORD_LIST_TOO_LARGE', smaller],
    ['INVALID_RECORD', 'Send what the topic takes: a compacted one needs keys.'],
    ['INVALID_TIMESTAMP', 'Send what the topic takes: its settings say how far a time may be from that of the broker.'],
  ])('(%s) says so, and is not tried again', (reason, advice) => {
    const refusal = refusalFor(reason)
    expect(refusal.message).toBe(
      'What the handler sent to shipments is refused: It was refused. Nothing of it is written. The record is not tried ' +
        `again, since the same would be refused the next time too. ${advice} Then replay the record.`,
    )
    expect(refusal).toBeInstanceOf(OutputUnacceptableError)
    expect([refusal.code, failureKindOf(refusal)]).toEqual(['WAYBILL_OUTPUT_UNACCEPTABLE', 'PERMANENT'])
  })

  test('is found by a rule for refused outputs too', () => {
    expect(refusalFor('INVALID_RECORD')).toBeInstanceOf(OutputRefusedError)
  })

  test('goes to a tier where a binding says so', () => {
    for (const name of ['OutputUnacceptableError', 'OutputRefusedError']) {
      const classify = createExceptionClassifier({ skipToTierMapping: { [name]: 2 } })
      expect(classify(refusalFor('MESSAGE_TOO_LARGE'), 0)).toEqual({ routing: 'SKIP_TO_TIER', targetTier: 2 })
    }
  })

  test('is one whose own content is refused, and no other', () => {
    const names = (Object.keys(errorCode) as ErrorName[]).filter((name) => kindOf(errorCode[name]) === 'FATAL')
    const never = names.filter((name) => refusalFor(name) instanceof OutputUnacceptableError)
    expect(never.toSorted()).toEqual([
      'INVALID_RECORD',
      'INVALID_TIMESTAMP',
      'MESSAGE_TOO_LARGE',
      'RECORD_LIST_TOO_LARGE',
    ])
  })
})

test('a refused output tells what happened, though the advice of its cause says the same', () => {
  expect(refusalFor('INVALID_RECORD', 'Send it again. It has no key').message).toContain(
    'is refused: Send it again. It has no key. Nothing of it',
  )
})
