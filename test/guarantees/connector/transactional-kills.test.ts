import { Buffer } from 'node:buffer'
import { createSeededRandom, systemClock, systemTimers } from '@waybill/core/internal'
import { createKafkaClient, type KafkaClient, requireAllDone, type TopicPartition } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Child } from '../support/child.ts'
import { committedAudit } from '../support/committed-audit.ts'
import { patient } from '../support/connector-scene.ts'
import { readLog } from '../support/ledger.ts'
import { report, scale } from '../support/scale.ts'
import type { TransformMessage, TransformTask } from '../support/transform-process.ts'

const kills = scale === 'WHOLE' ? 20 : 2
const partitions = 4
const writeEveryMs = 4

/** Of twenty records sixteen succeed at once, three in their tier, and one never. */
function kindOf(index: number): 'OK' | 'LATER' | 'DEAD' {
  if (index % 20 === 7) return 'DEAD'
  return index % 20 === 3 || index % 20 === 11 || index % 20 === 18 ? 'LATER' : 'OK'
}

/** Writes records until the signal aborts; returns the confirmed values, each once. */
async function writeOn(kafka: KafkaClient, topic: string, signal: AbortSignal): Promise<string[]> {
  await using producer = kafka.producer('EVENT', { lingerMs: 1 })
  const sends: Promise<string>[] = []
  for (let index = 0; !signal.aborted; index++) {
    const value = `${kindOf(index)}-${index}`
    const record = { topic, key: Buffer.from(`key-${index % 30}`), value: Buffer.from(value) }
    sends.push(producer.send(record).then(() => value))
    await systemTimers.sleep(writeEveryMs)
  }
  return await Promise.all(sends)
}

async function placesOf(kafka: KafkaClient, topic: string): Promise<TopicPartition[]> {
  const [view] = requireAllDone('Describing the topic', await kafka.admin.describeTopics([topic]))
  return (view?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
}

/** Resolves when the group has committed everything up to the end of the topic, with the counts of its commits. */
async function settled(kafka: KafkaClient, topic: string, groupId: string) {
  const places = await placesOf(kafka, topic)
  let audit: Awaited<ReturnType<typeof committedAudit>> = []
  await eventually(async () => {
    audit = await committedAudit(kafka, groupId, places)
    const ends = requireAllDone('Finding the ends', await kafka.admin.listOffsets(places, 'LATEST'))
    for (const { partition, offset } of ends)
      expect(audit.find((one) => one.partition === partition)?.committed ?? 0n).toBe(offset)
  }, patient)
  return audit
}

describeWith('kafka')('a transactional binding whose processes are killed', ({ kafka: place }) => {
  test(`S0-149 I13 writes exactly f(input), seen by a reader of committed records: ${kills} kills under load`, {
    timeout: 900_000,
  }, async () => {
    await using kafka = createKafkaClient({ brokers: place.bootstrap })
    const topic = await place.createTopic('transform-in', { partitions })
    const output = await place.createTopic('transform-out', { partitions })
    const groupId = `${topic}-group`
    const task: TransformTask = {
      brokers: place.bootstrap,
      output,
      binding: {
        topic,
        groupId,
        transactional: true,
        sessionTimeoutMs: 3_000,
        heartbeatIntervalMs: 500,
        retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 3 }] },
      },
    }
    const crew: Child<TransformMessage>[] = []
    const hire = (): void =>
      void crew.push(new Child<TransformMessage>(new URL('../support/transform-process.ts', import.meta.url), task))
    await using staff = new AsyncDisposableStack()
    staff.defer(async () => void (await Promise.all(crew.map((one) => one.kill()))))
    const seed = systemClock.now() % 1_000_000
    const random = createSeededRandom(seed)
    const writing = new AbortController()
    const written = writeOn(kafka, topic, writing.signal)
    hire()
    hire()
    let handledByDead = 0
    for (let kill = 0; kill < kills; kill++) {
      // The one that works: the other one may have no partition yet.
      const worker = (): Child<TransformMessage> | undefined => crew.find((one) => one.of('HANDLED').length > 0)
      await eventually(() => expect(worker()).toBeDefined(), patient)
      await systemTimers.sleep(random() * 1_500)
      const victim = worker() as Child<TransformMessage>
      crew.splice(crew.indexOf(victim), 1)
      await victim.kill()
      handledByDead += victim.of('HANDLED').length
      hire()
    }
    writing.abort()
    const values = await written
    const audit = await settled(kafka, topic, groupId)
    await settled(kafka, `${topic}.retry-1`, `${groupId}-retry-1`)
    for (const child of crew) expect(await child.terminate(), `seed ${seed}`).toEqual({ code: 0, signal: null })

    const of = (kind: string): string[] => values.filter((value) => value.startsWith(kind))
    const due = [...of('OK'), ...of('LATER')].flatMap((value) => [`${value}/a`, `${value}/b`])
    const read = async (from: string): Promise<string[]> =>
      (await readLog(kafka, `${groupId}-reader-${from}`, from)).flat().toSorted()
    expect(await read(output), `seed ${seed}`).toEqual(due.toSorted())
    expect(await read(`${topic}.retry-1`), `seed ${seed}`).toEqual(of('LATER').toSorted())
    expect(await read(`${topic}.DLT`), `seed ${seed}`).toEqual(of('DEAD').toSorted())
    expect(audit.flatMap(({ broken }) => broken)).toEqual([])
    const sum = (letter: string): number => Number(audit.reduce((all, { count }) => all + count(letter), 0n))
    expect({ ok: sum('o'), retried: sum('r'), dead: sum('d'), skipped: sum('k') }).toEqual({
      ok: of('OK').length,
      retried: of('LATER').length,
      dead: of('DEAD').length,
      skipped: 0,
    })
    expect(handledByDead).toBeGreaterThan(kills)
    report(`${values.length} records through ${kills} kills, ${handledByDead} calls in processes that died`)
  })
})
