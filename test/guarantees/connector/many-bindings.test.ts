import { Buffer } from 'node:buffer'
import { createKafkaClient, type KafkaClient, requireAllDone } from '@waybill/kafka'
import { describeWith, type KafkaPlace } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Child } from '../support/child.ts'
import { patient } from '../support/connector-scene.ts'
import type { Footprint, ManyBindingsMessage, ManyBindingsTask } from '../support/many-bindings-process.ts'
import { report, scale } from '../support/scale.ts'

const script = new URL('../support/many-bindings-process.ts', import.meta.url)
const bindings = scale === 'WHOLE' ? 50 : 4
const idleMs = scale === 'WHOLE' ? 20_000 : 500
const deadlineMs = scale === 'WHOLE' ? 30_000 : 5_000

/** Creates topics of one record each. */
async function topicsOf(place: KafkaPlace, kafka: KafkaClient, name: string, count: number): Promise<string[]> {
  const topics = await Promise.all(Array.from({ length: count }, (_, index) => place.createTopic(`${name}-${index}`)))
  await writeToEach(kafka, topics)
  return topics
}

async function writeToEach(kafka: KafkaClient, topics: readonly string[]): Promise<void> {
  await using producer = kafka.producer('EVENT')
  await Promise.all(topics.map((topic) => producer.send({ topic, partition: 0, key: null, value: Buffer.from('x') })))
}

function childOf(place: KafkaPlace, task: Omit<ManyBindingsTask, 'brokers'>): Child<ManyBindingsMessage> {
  return new Child<ManyBindingsMessage>(script, { ...task, brokers: place.bootstrap } satisfies ManyBindingsTask)
}

function megabytes(before: Footprint, after: Footprint, of: 'rssBytes' | 'heapBytes'): string {
  return ((after[of] - before[of]) / 2 ** 20).toFixed(1)
}

describeWith('kafka')('a process whose bindings are registered while it runs', ({ kafka: place }) => {
  test(`serves ${bindings} of them, and stops within its deadline while each has a handler running`, {
    timeout: 600_000,
  }, async () => {
    await using kafka = createKafkaClient({ brokers: place.bootstrap })
    const topics = await topicsOf(place, kafka, 'many', bindings)
    const groupId = place.named('many')
    await using child = childOf(place, { topics, groupId, idleMs, deadlineMs })
    await eventually(() => expect(child.of('IDLE')).toHaveLength(1), patient)
    await writeToEach(kafka, topics)
    await eventually(() => expect(child.of('RUNNING')).toHaveLength(1), patient)
    expect(await child.terminate()).toEqual({ code: 0, signal: null })
    expect(child.of('STOPPED')).toMatchObject([{ stillRunning: [] }])

    // Handlers that completed after their signal are committed, and no member is left in a group.
    for (const [index, topic] of topics.entries()) {
      const group = `${groupId}-${index}`
      const [offset] = requireAllDone('offsets', await kafka.admin.groupOffsets(group, [{ topic, partition: 0 }]))
      expect([topic, offset?.committed]).toEqual([topic, 2n])
      const [described] = await kafka.admin.describeGroups([group])
      expect(described).toMatchObject({ members: [] })
    }
    const [empty] = child.of('EMPTY')
    const [registered] = child.of('REGISTERED')
    const [idle] = child.of('IDLE')
    if (empty === undefined || registered === undefined || idle === undefined)
      throw new Error('The process did not report its footprint.')
    report(
      `${bindings} bindings of one tier each: heap +${megabytes(empty.footprint, registered.footprint, 'heapBytes')} MiB, ` +
        `rss +${megabytes(empty.footprint, registered.footprint, 'rssBytes')} MiB, ` +
        `${idle.footprint.connections} connections, idle CPU ${((idle.cpuMs / idle.ms) * 100).toFixed(1)} % of a core`,
    )
  })

  test('ends at once by a second signal, and names the handlers that were left', { timeout: 240_000 }, async () => {
    await using kafka = createKafkaClient({ brokers: place.bootstrap })
    const topics = await topicsOf(place, kafka, 'twice', 2)
    // Longer than this test may take: only the second signal can end it.
    const task = { topics, groupId: place.named('twice'), idleMs: 0, deadlineMs: 3_600_000 }
    await using child = childOf(place, task)
    await eventually(() => expect(child.of('IDLE')).toHaveLength(1), patient)
    await writeToEach(kafka, topics)
    await eventually(() => expect(child.of('RUNNING')).toHaveLength(1), patient)
    void child.terminate()
    await eventually(() => expect(child.of('STOPPING')).toHaveLength(1), patient)
    expect(await child.terminate()).toEqual({ code: 1, signal: null })
    const left = ['1 handler of binding binding-0', '1 handler of binding binding-1']
    expect(child.of('STOPPED')).toMatchObject([{ stillRunning: left }])
  })
})
