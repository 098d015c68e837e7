import { Buffer } from 'node:buffer'
import { createSeededRandom, systemClock } from '@waybill/core/internal'
import { createKafkaClient } from '@waybill/kafka'
import { createBrokerTransport } from '@waybill/kafka/wire'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'
import { readLog } from './support/ledger.ts'
import { ResponseThief } from './support/response-thief.ts'
import { report, scale } from './support/scale.ts'

const callers = 1_000
const bursts = scale === 'WHOLE' ? 10 : 1
const burst = 3
const partitions = 6

const valuesOf = (caller: number, from = 0, to = bursts * burst): string[] =>
  Array.from({ length: to - from }, (_, index) => `${caller}/${from + index}`)

describeWith('kafka')('with 30 % of all Produce responses lost', ({ kafka: place }) => {
  test.each(['EVENT', 'DEAD_LETTER'] as const)(
    'a thousand concurrent callers of a producer %s find nothing twice, nothing missing, nothing reordered',
    async (preset) => {
      const seed = systemClock.now() % 1_000_000
      const topic = await place.createTopic(`lost-${preset}`, { partitions })
      const [host = '', port = ''] = (place.bootstrap[0] ?? '').split(':')
      await using thief = await ResponseThief.start({
        target: { host, port: Number(port) },
        apiKey: 0,
        share: 0.3,
        random: createSeededRandom(seed),
      })
      await using kafka = createKafkaClient({
        brokers: place.bootstrap,
        transport: thief.before(createBrokerTransport()),
      })
      const options = {
        deliveryTimeoutMs: 300_000,
        requestTimeoutMs: 300,
        retryBackoffMs: 20,
        batchBytes: 1_000,
        maxRequestBytes: 2_000,
      }
      const producer = kafka.producer(preset, options)
      const send = (caller: number, value: string): Promise<unknown> =>
        producer.send({ topic, partition: caller % partitions, key: null, value: Buffer.from(value) })
      // Within a burst a caller does not wait for the previous record: that is where order could break.
      const call = async (caller: number): Promise<void> => {
        for (let from = 0; from < bursts * burst; from += burst)
          await Promise.all(valuesOf(caller, from, from + burst).map((value) => send(caller, value)))
      }
      await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
      await producer.close()
      report(`${preset}: ${thief.stolen} of ${thief.seen} responses lost (seed ${seed})`)
      // A short run loses few by chance: none at all is once in a million runs.
      expect(thief.stolen).toBeGreaterThan(0)

      await using direct = createKafkaClient({ brokers: place.bootstrap })
      const log = await readLog(direct, place.named(`audit-${preset}`), topic)
      const byCaller = Map.groupBy(log.flat(), (value) => Number(value.split('/')[0]))
      const wrong = Array.from({ length: callers }, (_, caller) => caller).filter(
        (caller) => byCaller.get(caller)?.join() !== valuesOf(caller).join(),
      )
      expect({ seed, wrong, strangers: byCaller.size - callers }).toEqual({ seed, wrong: [], strangers: 0 })
    },
    600_000,
  )
})
