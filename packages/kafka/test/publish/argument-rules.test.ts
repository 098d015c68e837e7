import { createConnector, handleEvents } from '@waybill/connector'
import { defineEvents, OptionsError } from '@waybill/core'
import { createKafkaClient, createPublisher, publishEvents } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { expect, test } from 'vitest'
import { z } from 'zod'

/** Passes a value as an untyped program would. */
const untyped = (value?: unknown): never => value as never

const cluster = createSimCluster()
const kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('misuse') })
const events = defineEvents({ 'order.placed': { topic: 'orders', schema: z.object({}), key: () => null } })
const handlers = { 'order.placed': async () => {} }

test.each<[string, () => unknown, readonly string[]]>([
  [
    'publishEvents without anything',
    () => publishEvents(untyped(), untyped()),
    ['kafka is required', 'events is required'],
  ],
  ['publishEvents, swapped', () => publishEvents(untyped(events), untyped(kafka)), ['kafka must be', 'events must be']],
  [
    'publishEvents without events',
    () => publishEvents(kafka, untyped()),
    ['events is required: a catalog from defineEvents'],
  ],
  [
    'createPublisher, swapped',
    () => createPublisher(untyped(events), untyped(kafka)),
    ['kafka must be', 'events must be'],
  ],
  ['createPublisher without events', () => createPublisher(kafka, untyped()), ['events is required']],
  ['handleEvents without anything', () => handleEvents(untyped(), untyped()), ['events is required']],
  ['handleEvents, swapped', () => handleEvents(untyped(handlers), untyped(events)), ['events must be a catalog']],
  ['handleEvents without handlers', () => handleEvents(events, untyped()), ['a handler for at least one event']],
  ['createConnector without anything', () => createConnector(untyped()), ['clusters is required']],
  ['createKafkaClient without anything', () => createKafkaClient(untyped()), ['brokers is required']],
  ['a producer of no preset', () => kafka.producer(untyped('event')), ['preset must be', 'did you mean EVENT?']],
  ['a reader without ranges', () => kafka.reader(untyped()), ['ranges is required']],
  [
    'a reader of ranges that are none',
    () =>
      kafka.reader([untyped({ from: 0n, until: 5n }), untyped({ topic: 'orders', partition: 0, from: 0, until: 5 })]),
    ['ranges[0] must be an object like', 'ranges[1] must be an object like'],
  ],
])('%s says what is missing, and what it should be', (_, call, problems) => {
  let thrown: unknown
  try {
    call()
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(OptionsError)
  for (const problem of problems) expect((thrown as Error).message).toContain(problem)
})
