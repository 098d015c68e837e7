/**
 * Publishes events with 64 in flight: OUTBOX from the commit of their transaction, through the hot path and
 * publishEvents, until their rows are DONE; PRODUCER with 64 sequential senders.
 */

import { createKafkaClient, publishEvents } from '@waybill/kafka'
import { fromPg } from '@waybill/sql'
import { bootstrap } from '../kafka-client/contestant.ts'
import { eventsFor, newEvent } from './bench-events.ts'
import { DrainMeter, type DrainResult } from './drain-meter.ts'
import { createEngine, writeHot } from './engine.ts'
import { openPostgres } from './open-postgres.ts'
import { answer, givenTask } from './participant-process.ts'

export interface PublishTask {
  readonly way: 'OUTBOX' | 'PRODUCER'
  readonly topic: string
  readonly url: string
  readonly warm: number
  readonly count: number
}

const inFlight = 64
const { way, topic, url, warm, count } = givenTask() as PublishTask
const kafka = createKafkaClient({ brokers: [bootstrap] })
const events = eventsFor(topic)
const meter = new DrainMeter(warm, count, () => 0)

async function throughOutbox(): Promise<DrainResult> {
  const { pool } = await openPostgres(url)
  const database = fromPg(pool)
  const outbox = createEngine({
    mode: 'multiNode',
    whenDone: 'KEEP',
    database,
    workerCount: inFlight,
    hotQueueCapacity: warm + count,
    listeners: publishEvents(kafka, events),
    done: meter.done,
  })
  await outbox.start()
  await writeHot(outbox, database, warm, () => {})
  await meter.warmed
  await writeHot(outbox, database, count, () => meter.begin())
  return meter.finished
}

async function byProducer(): Promise<DrainResult> {
  const producer = kafka.producer('EVENT')
  const records = Array.from({ length: warm + count }, () => ({ topic, ...events.wireFormat.encode(newEvent()) }))
  let next = 0
  const sendOneByOne = async (): Promise<void> => {
    for (let record = records[next++]; record !== undefined; record = records[next++]) {
      await producer.send(record)
      meter.done(1)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, sendOneByOne))
  return meter.finished
}

answer(await (way === 'OUTBOX' ? throughOutbox() : byProducer()))
