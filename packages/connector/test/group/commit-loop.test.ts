import { CommitError } from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { CommitLoop } from '../../src/group/commit-loop.ts'
import type { PartitionWorker } from '../../src/partition/partition-worker.ts'

/** A partition whose settled offset the test sets. */
class ScriptedWorker {
  settled = 0n
  acknowledged = 0n
  isRepeated = false
  readonly partition: number

  constructor(partition: number) {
    this.partition = partition
  }

  pendingCommit(): readonly OffsetCommit[] | undefined {
    if (this.settled === this.acknowledged && !this.isRepeated) return undefined
    return [{ topic: 'orders', partition: this.partition, epoch: 1, offset: this.settled }]
  }

  committed([commit]: readonly OffsetCommit[]): void {
    this.acknowledged = commit?.offset ?? 0n
    this.isRepeated = false
  }

  repeatCommit(): void {
    this.isRepeated = true
  }
}

type Answer = () => Promise<void>

function scene(seed = 1) {
  const runtime = createVirtualRuntime(seed)
  const workers = [new ScriptedWorker(0), new ScriptedWorker(1)]
  const sent: string[] = []
  const answers: Answer[] = []
  const failures: unknown[] = []
  let inFlight = 0
  const loop = new CommitLoop(
    runtime,
    async (offsets) => {
      expect(++inFlight).toBe(1)
      sent.push(offsets.map(({ partition, offset }) => `${partition}=${offset}`).join(' '))
      await runtime.timers.sleep(10)
      inFlight--
      await answers.shift()?.()
    },
    () => workers as unknown as PartitionWorker[],
    (error) => void failures.push(error),
  )
  const [first, second] = workers as [ScriptedWorker, ScriptedWorker]
  return { runtime, loop, sent, answers, failures, first, second, all: workers as unknown as PartitionWorker[] }
}

const refusal = (kind: 'REBALANCING' | 'UNKNOWN', partitions: readonly OffsetCommit[], done: OffsetCommit[] = []) =>
  new CommitError([
    ...partitions.map((offset) => ({ offset, kind, reason: kind })),
    ...done.map((offset) => ({ offset, kind: 'COMMITTED' as const, reason: undefined })),
  ])

describe('commits of a member', () => {
  test('are sent one at a time, and the next one has everything settled meanwhile', async () => {
    const { runtime, loop, sent, first, second } = scene()
    first.settled = 1n
    loop.request()
    await runtime.advance(5)
    first.settled = 3n
    second.settled = 7n
    loop.request()
    loop.request()
    await runtime.runToIdle()
    expect(sent).toEqual(['0=1', '0=3 1=7'])
    expect([first.acknowledged, second.acknowledged]).toEqual([3n, 7n])
  })

  test('are not sent when nothing changed', async () => {
    const { runtime, loop, sent } = scene()
    loop.request()
    await runtime.runToIdle()
    expect(sent).toEqual([])
  })

  test('are retried with the latest state after a refusal, without another request', async () => {
    const { runtime, loop, sent, answers, first } = scene()
    answers.push(() => Promise.reject(new Error('no coordinator')))
    first.settled = 1n
    loop.request()
    await runtime.advance(11)
    first.settled = 2n
    await runtime.runToIdle()
    expect(sent).toEqual(['0=1', '0=2'])
    expect(first.acknowledged).toBe(2n)
  })

  test('count as acknowledged only for the partitions that the coordinator accepted', async () => {
    const { runtime, loop, sent, answers, first, second } = scene()
    first.settled = 1n
    second.settled = 1n
    const [one] = first.pendingCommit() ?? []
    const [other] = second.pendingCommit() ?? []
    answers.push(() => Promise.reject(refusal('REBALANCING', [one as OffsetCommit], [other as OffsetCommit])))
    // Outcomes refer to the sent objects by identity.
    first.pendingCommit = () => (first.acknowledged === 1n ? undefined : [one as OffsetCommit])
    second.pendingCommit = () => (second.acknowledged === 1n ? undefined : [other as OffsetCommit])
    loop.request()
    await runtime.advance(11)
    expect([first.acknowledged, second.acknowledged]).toEqual([0n, 1n])
    await runtime.runToIdle()
    expect(sent).toEqual(['0=1 1=1', '0=1'])
  })

  test('with an unknown outcome are repeated once a late request can no longer overwrite them', async () => {
    const { runtime, loop, sent, answers, first } = scene()
    first.settled = 1n
    const [one] = first.pendingCommit() ?? []
    answers.push(() => Promise.reject(refusal('UNKNOWN', [one as OffsetCommit])))
    loop.request()
    await runtime.runToIdle()
    expect(sent).toEqual(['0=1', '0=1'])
    loop.tick()
    await runtime.advance(31_000)
    loop.tick()
    await runtime.runToIdle()
    expect(sent).toEqual(['0=1', '0=1', '0=1 1=0'])
  })

  test("are repeated hourly, which undoes a reset of the group's offsets", async () => {
    const { runtime, loop, sent, first } = scene()
    first.settled = 1n
    loop.request()
    await runtime.runToIdle()
    await runtime.advance(3_599_000)
    loop.tick()
    await runtime.runToIdle()
    expect(sent).toHaveLength(1)
    await runtime.advance(2_000)
    loop.tick()
    await runtime.runToIdle()
    expect(sent).toEqual(['0=1', '0=1 1=0'])
  })

  test('end when the loop is closed, including one that waits for its retry', async () => {
    const { runtime, loop, sent, answers, first } = scene()
    answers.push(() => Promise.reject(new Error('no')))
    first.settled = 1n
    loop.request()
    await runtime.advance(11)
    loop.close()
    await runtime.runToIdle()
    expect(sent).toEqual(['0=1'])
  })
})

describe('a flush', () => {
  test('waits for the request in flight, then commits the rest', async () => {
    const { runtime, loop, sent, first, all } = scene()
    first.settled = 1n
    loop.request()
    await runtime.advance(5)
    first.settled = 2n
    const flushed = loop.flush(all, 1_000)
    await runtime.runToIdle()
    expect(await flushed).toBe(true)
    expect(sent).toEqual(['0=1', '0=2'])
  })

  test('retries until its deadline, then returns false', async () => {
    const { runtime, loop, sent, answers, first, all } = scene()
    for (let index = 0; index < 100; index++) answers.push(() => Promise.reject(new Error('no')))
    first.settled = 1n
    const flushed = loop.flush(all, 1_000)
    await runtime.runToIdle()
    expect(await flushed).toBe(false)
    expect(sent.length).toBeGreaterThan(3)
    expect(runtime.clock.monotonic()).toBeLessThan(1_100)
  })
})

test('a worker whose pendingCommit throws fails its member, and the others are committed', async () => {
  const { runtime, loop, sent, failures, first, second } = scene()
  const bug = new Error('a bug')
  first.pendingCommit = () => {
    throw bug
  }
  second.settled = 3n
  loop.request()
  await runtime.advance(20)
  expect([sent, failures]).toEqual([['1=3'], [bug]])
})
