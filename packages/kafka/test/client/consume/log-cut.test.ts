import { expect, test } from 'vitest'
import type { Consumer } from '../../../src/client/consume/consumer.ts'
import type { StartFrom } from '../../../src/client/consume/start-from.ts'
import { type SimRun, simRun } from './sim-run.ts'

const at = { topic: 't', partition: 0 }

interface Reading {
  readonly run: SimRun
  readonly consumer: Consumer
  readonly losses: string[]
  /** Values and offsets of the next records. */
  readonly read: (count: number) => Promise<string[]>
}

/** A consumer that has read and committed what was written. */
async function reading(run: SimRun, values: readonly string[], startFrom: StartFrom = 'EARLIEST'): Promise<Reading> {
  const { cluster, owning } = run
  await cluster.createTopic('t')
  const losses: string[] = []
  const consumer = cluster.consumer({
    groupId: 'g',
    topics: ['t'],
    startFrom,
    onPositionLost: ({ cause, expected, continuesAt }) => losses.push(`${cause} ${expected} ${continuesAt}`),
  })
  await consumer.start()
  await owning(consumer, 1)
  for (const value of values) await cluster.produce('t', 0, [value])
  const read = async (count: number): Promise<string[]> => {
    const found: string[] = []
    for (let polls = 0; found.length < count && polls < 20; polls++)
      for (const { offset, value } of await consumer.poll(count - found.length, 1_000))
        found.push(`${offset}:${String(value)}`)
    return found
  }
  await read(values.length)
  return { run, consumer, losses, read }
}

test.each<StartFrom>(['EARLIEST', 'LATEST'])(
  'a log that was cut and written on is read from the cut on, with startFrom %s',
  (startFrom) =>
    simRun(
      async (run) => {
        const { read, losses } = await reading(run, ['a', 'b', 'c', 'd'], startFrom)
        expect(run.sim.electUnclean('t', 0, 1n)).toBe(1n)
        await run.cluster.produce('t', 0, ['w', 'x', 'y', 'z', 'zz'])
        expect(await read(5)).toEqual(['1:w', '2:x', '3:y', '4:z', '5:zz'])
        expect(losses).toEqual(['LOG_CUT 4 1'])
      },
      { brokers: 3 },
    ),
)

test('a cut above the position does not move it, and records that were fetched ahead are fetched again', () =>
  simRun(
    async (run) => {
      const { read, losses, consumer } = await reading(run, ['a'])
      for (const value of ['b', 'c', 'd']) await run.cluster.produce('t', 0, [value])
      expect(await read(1)).toEqual(['1:b'])
      run.sim.electUnclean('t', 0, 3n)
      consumer.pause([at])
      await run.sleep(2_000)
      await run.cluster.produce('t', 0, ['x', 'y'])
      consumer.resume([at])
      expect(await read(3)).toEqual(['2:c', '3:x', '4:y'])
      expect(losses).toEqual([])
    },
    { brokers: 3 },
  ))

test('a second cut is detected, also after a seek back and before anything was written', () =>
  simRun(
    async (run) => {
      const { read, losses, consumer } = await reading(run, ['a', 'b', 'c', 'd'])
      run.sim.electUnclean('t', 0, 3n)
      await read(1)
      consumer.seek(at, 2n)
      expect(await read(1)).toEqual(['2:c'])
      run.sim.electUnclean('t', 0, 1n)
      await run.cluster.produce('t', 0, ['x', 'y', 'z'])
      expect(await read(3)).toEqual(['1:x', '2:y', '3:z'])
      expect(losses).toEqual(['LOG_CUT 4 3', 'LOG_CUT 3 1'])
    },
    { brokers: 3 },
  ))

test('a cut blocks the partition with startFrom ERROR, until a seek', () =>
  simRun(
    async (run) => {
      const { losses, consumer, read } = await reading(run, [], 'ERROR')
      consumer.seek(at, 0n)
      for (const value of ['a', 'b']) await run.cluster.produce('t', 0, [value])
      await read(2)
      run.sim.electUnclean('t', 0, 1n)
      await run.cluster.produce('t', 0, ['x', 'y'])
      expect(await read(1)).toEqual([])
      expect(losses.at(-1)).toBe('LOG_CUT 2 null')
      consumer.seek(at, 1n)
      expect(await read(2)).toEqual(['1:x', '2:y'])
    },
    { brokers: 3 },
  ))

test('an owner that begins at a committed offset finds out that the log was cut before it', () =>
  simRun(
    async (run) => {
      const { consumer } = await reading(run, ['a', 'b', 'c'])
      const [{ epoch } = { epoch: 0 }] = consumer.assignment()
      await consumer.commit([{ ...at, epoch, offset: 3n }])
      await consumer.stop()
      run.sim.electUnclean('t', 0, 1n)
      await run.cluster.produce('t', 0, ['x', 'y', 'z'])
      const losses: string[] = []
      const next = run.cluster.consumer({
        groupId: 'g',
        topics: ['t'],
        startFrom: 'EARLIEST',
        onPositionLost: ({ cause, expected, continuesAt }) => losses.push(`${cause} ${expected} ${continuesAt}`),
      })
      await next.start()
      const found: string[] = []
      while (found.length < 3)
        for (const { offset, value } of await next.poll(3, 1_000)) found.push(`${offset}:${String(value)}`)
      expect([found, losses]).toEqual([['1:x', '2:y', '3:z'], ['LOG_CUT 3 1']])
    },
    { brokers: 3 },
  ))
