/** A group of Waybill's consumers in one process, which one more member joins and leaves again. Prints {@link MoveTimes}. */

import { setTimeout as sleep } from 'node:timers/promises'
import { createKafkaClient } from '@waybill/kafka'
import { createBrokerTransport } from '@waybill/kafka/wire'
import { bootstrap, newGroupId } from '../kafka-client/contestant.ts'
import { counted, everyInterval, type HeartbeatCount } from './every-interval.ts'
import type { MoveTask, MoveTimes } from './move-task.ts'

type Task = MoveTask & { readonly heartbeats: 'HURRIED' | 'EVERY_INTERVAL' }

const task = JSON.parse(process.argv[2] ?? '') as Task
const { topic, members, partitions, drainMs, heartbeatIntervalMs, quietMs } = task
const groupId = newGroupId()
const count: HeartbeatCount = { sent: 0 }
const releasedAt = new Map<number, number>()

interface Member {
  readonly owned: Set<number>
  /** The longest time without an owner of the partitions that it received. */
  ownerlessMs: number
  stop(): Promise<void>
}

/** Starts a member that polls until it is stopped. */
async function startMember(): Promise<Member> {
  const isHurried = task.heartbeats === 'HURRIED'
  const wire = createBrokerTransport()
  const transport = isHurried ? counted(wire, count) : everyInterval(wire, heartbeatIntervalMs, count)
  const client = createKafkaClient({ brokers: [bootstrap], transport })
  const consumer = client.consumer({
    groupId,
    topics: [topic],
    heartbeatIntervalMs: isHurried ? heartbeatIntervalMs : 100,
    drainDeadlineMs: 60_000,
    async onRevoking(revoked) {
      await sleep(drainMs)
      for (const { partition } of revoked) {
        member.owned.delete(partition)
        releasedAt.set(partition, performance.now())
      }
    },
    async onAssigned(assigned) {
      for (const { partition } of assigned) {
        const since = releasedAt.get(partition)
        if (since !== undefined) member.ownerlessMs = Math.max(member.ownerlessMs, performance.now() - since)
        member.owned.add(partition)
      }
    },
  })
  let isOver = false
  const member: Member = {
    owned: new Set(),
    ownerlessMs: 0,
    async stop() {
      isOver = true
      await client.close()
      await polling
    },
  }
  const poll = async (): Promise<void> => {
    while (!isOver) {
      try {
        await consumer.poll(500, 200)
      } catch (error) {
        if (!isOver) throw error
      }
    }
  }
  await consumer.start()
  const polling = poll()
  return member
}

async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await sleep(1)
}

async function measure(): Promise<MoveTimes> {
  const times = { owningMs: [] as number[], ownerlessMs: [] as number[], heartbeats: [] as number[] }
  const stay = await Promise.all(Array.from({ length: members - 1 }, () => startMember()))
  const isShared = (): boolean => {
    const owned = stay.map((member) => member.owned.size)
    return owned.reduce((sum, size) => sum + size, 0) === partitions && owned.every((size) => size > 0)
  }
  await until(isShared)
  for (const quiet of quietMs) {
    await sleep(quiet)
    releasedAt.clear()
    const before = count.sent
    const startedAt = performance.now()
    const newcomer = await startMember()
    await until(() => newcomer.owned.size > 0)
    times.owningMs.push(performance.now() - startedAt)
    times.ownerlessMs.push(newcomer.ownerlessMs)
    await sleep(1_000)
    await newcomer.stop()
    await until(isShared)
    times.heartbeats.push(count.sent - before)
  }
  return times
}

process.stdout.write(`${JSON.stringify(await measure())}\n`)
process.exit(0)
