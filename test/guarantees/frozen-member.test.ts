import { Buffer } from 'node:buffer'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Child } from './support/child.ts'
import { Ledger } from './support/ledger.ts'
import type { MemberMessage, MemberTask } from './support/member-process.ts'
import { OffsetWatch } from './support/offset-watch.ts'
import { Worker } from './support/worker.ts'

const sessionTimeoutMs = 2_000
const patient = { deadlineMs: 60_000 }
const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => String(from + index))

describeWith('kafka')('a member that was frozen beyond its session', ({ kafka: place }) => {
  test('commits nothing when it wakes up, and moves no offset back', async () => {
    const topic = await place.createTopic('frozen', { partitions: 2 })
    const groupId = place.named('frozen')
    await using kafka = createKafkaClient({ brokers: place.bootstrap })
    const producer = kafka.producer('EVENT')
    const write = (values: readonly string[]): Promise<unknown> =>
      Promise.all(
        values.map((value) =>
          producer.send({ topic, partition: Number(value) % 2, key: null, value: Buffer.from(value) }),
        ),
      )
    const partitions = [0, 1].map((partition) => ({ topic, partition }))
    const committed = async (): Promise<unknown[]> =>
      (await kafka.admin.groupOffsets(groupId, partitions)).map((one) => one.outcome === 'DONE' && one.committed)

    const task: MemberTask = { brokers: place.bootstrap, groupId, topic, sessionTimeoutMs }
    await using member = new Child<MemberMessage>(new URL('./support/member-process.ts', import.meta.url), task)
    await write(numbers(0, 100))
    await eventually(async () => expect(await committed()).toEqual([50n, 50n]), patient)
    const formerly = new Set(member.of('HANDLED').map(({ epoch }) => epoch))

    member.freeze()
    await write(numbers(100, 200))
    const ledger = new Ledger()
    await using heir = new Worker(kafka, {
      name: 'heir',
      groupId,
      topics: [topic],
      ledger,
      handleMs: () => 0,
      heartbeatIntervalMs: 100,
    })
    await heir.start()
    // The group drops the frozen member once its session expires.
    await eventually(async () => expect(await committed()).toEqual([100n, 100n]), patient)
    expect(ledger.values.toSorted()).toEqual(numbers(100, 200))

    await using watch = new OffsetWatch(kafka, groupId)
    const before = member.messages.values.length
    member.thaw()
    await eventually(() => expect(member.of('LOST', before)).toHaveLength(1), patient)
    // It continues trying to commit records it handled in its former assignment.
    const ofFormerLife = ({ epochs }: { readonly epochs: readonly number[] }): boolean =>
      epochs.some((epoch) => formerly.has(epoch))
    const accepted = (): unknown[] => member.of('COMMITTED', before).filter(ofFormerLife)
    const refused = (): unknown[] => member.of('REFUSED', before).filter(ofFormerLife)
    await eventually(() => expect([...accepted(), ...refused()].length).toBeGreaterThan(2), patient)
    expect(accepted()).toEqual([])
    expect(member.of('HANDLED', before)).toEqual([])
    expect(await committed()).toEqual([100n, 100n])

    // It is a member again, and continues where the other one was.
    let next = 200
    await eventually(async () => {
      await write(numbers(next, next + 2))
      next += 2
      expect(member.of('HANDLED', before).length).toBeGreaterThan(0)
    }, patient)
    expect(member.of('HANDLED', before).every(({ value, epoch }) => Number(value) >= 200 && !formerly.has(epoch))).toBe(
      true,
    )
    await heir.stop()
    await watch.stop()
    expect({ setbacks: watch.setbacks, accepted: heir.accepted, fatal: heir.fatal }).toEqual({
      setbacks: [],
      accepted: [],
      fatal: [],
    })
  }, 240_000)
})
