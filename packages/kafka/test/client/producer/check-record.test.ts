import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'
import { expect, test } from 'vitest'
import { createProducer } from '../../../src/client/producer/create-producer.ts'
import { runInSimulation } from './world.ts'

const good = { topic: 'topic-1', key: null, value: Buffer.from('x') }

test.each<[string, unknown, string]>([
  ['nothing', undefined, 'A record must be an object like { topic, key, value }, not undefined.'],
  ['a topic alone', 'orders', 'A record must be an object like { topic, key, value }, not "orders".'],
  ['no topic', { ...good, topic: undefined }, "A record's topic must be the name of a Kafka topic"],
  ['a topic that none can have', { ...good, topic: 'no topic' }, 'not "no topic"'],
  [
    'no value',
    { topic: 'topic-1', key: null },
    "A record's value must be a Buffer, such as Buffer.from(text), or null",
  ],
  ['no key', { topic: 'topic-1', value: null }, "A record's key must be a Buffer, such as Buffer.from(text), or null"],
  ['a text as its value', { ...good, value: 'x' }, 'not "x"'],
  ['an object as its value', { ...good, value: { total: 1 } }, 'not an object'],
  ['bytes that are no Buffer', { ...good, value: new Uint8Array(1) }, 'not an instance of Uint8Array'],
  ['headers that are an object', { ...good, headers: { a: 'b' } }, 'must be pairs: [["name", Buffer.from(text)]]'],
  ['headers that are a text', { ...good, headers: 'ab' }, 'must be pairs'],
  ['headers that are null', { ...good, headers: null }, 'must be pairs'],
  ['a header that is a text', { ...good, headers: [['a', 'b']] }, "A record's header a must be a Buffer"],
  ['a partition that is a text', { ...good, partition: '1' }, 'a whole number from 0 to 2147483647, not "1"'],
])('a record with %s is refused, and nothing is sent', (_, record, message) =>
  runInSimulation(async (world) => {
    const topic = await world.createTopic(1)
    await using producer = createProducer(world.client())
    const sent = producer.send(record as never)
    await expect(sent).rejects.toBeInstanceOf(ArgumentError)
    await expect(sent).rejects.toThrow(message)
    expect(await world.readLog(topic, 0)).toEqual([])
  }),
)
