import { expect, test } from 'vitest'
import { KafkaError } from '../../../src/client/kafka-error.ts'
import { OutputRefusedError } from '../../../src/connector/transaction/output-refused-error.ts'

const output = { topic: 'shipments', key: null, value: null }

test.each([
  ['MESSAGE_TOO_LARGE', 'Send smaller records, or raise max.message.bytes of the topic.'],
  ['RECORD_LIST_TOO_LARGE', 'Send smaller records, or raise max.message.bytes of the topic.'],
  ['UNKNOWN_TOPIC_OR_PARTITION', 'Create the topic, or name a partition that it has.'],
  ['TOPIC_AUTHORIZATION_FAILED', 'Allow this client to write to the topic.'],
  [undefined, 'Mend what the topic does not take.'],
])('a refused output (%s) has one advice, and it is for whoever runs the binding', (reason, advice) => {
  const cause = new KafkaError('It was refused.', 'FATAL', {
    kept: 'The record was not written.',
    next: 'Send it again.',
    ...(reason === undefined ? {} : { reason }),
  })
  expect(new OutputRefusedError([output, output], cause).message).toBe(
    'What the handler sent to shipments is refused: It was refused. Nothing of it is written; the record goes to its tier ' +
      `or to the dead letters, as with any failure. ${advice} Then replay the record, if it is a dead letter by now.`,
  )
})
