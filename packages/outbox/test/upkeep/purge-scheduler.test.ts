import { createEnvelope, createMemoryLogger, StateError } from '@waybill/core'
import { resolveOptions } from '@waybill/core/option'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { agePurgeRules, type PurgeOptions, purgeRules } from '../../src/options/purge-options.ts'
import { ageTasks, finishedTasks, purgeSchedulerOf } from '../../src/upkeep/purge-scheduler.ts'
import { MemoryOutbox, type MemoryRow } from '../support/memory-outbox.ts'

const day = 24 * 3_600_000

function setup(options: PurgeOptions = {}) {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const table = new MemoryOutbox(runtime)
  const resolved = resolveOptions('purge', purgeRules, options)
  const create = (owner = 'one') =>
    purgeSchedulerOf({
      database: table,
      store: table.store,
      runtime,
      owner,
      ...resolved,
      tasks: finishedTasks(resolved),
    })
  const add = (status: MemoryRow['status'], ageMs: number, count = 1): void => {
    for (let index = 0; index < count; index++) {
      const [row] = table.add(createEnvelope({ eventType: 'x', payloadJson: '{}' }))
      Object.assign(row as object, {
        status,
        createdAt: runtime.clock.now() - ageMs,
        doneAt: runtime.clock.now() - ageMs,
      })
    }
  }
  return { table, runtime, logger, create, add }
}

describe('purge', () => {
  test('C-72 deletes DONE rows after a week and DEAD ones never, unless configured otherwise', async () => {
    const { table, create, add } = setup()
    add('DONE', 8 * day)
    add('DONE', 6 * day)
    add('DEAD', 80 * day)
    add('NEW', 80 * day)
    expect(await create().runOnce()).toBe(1)
    expect(table.rows.map(({ status }) => status)).toEqual(['DONE', 'DEAD', 'NEW'])
    const both = setup({ deadAfterMs: day })
    both.add('DEAD', 2 * day)
    expect(await both.create().runOnce()).toBe(1)
  })

  test('S1-114 has the defaults 7 days, 500 rows, hourly', () => {
    expect(resolveOptions('purge', purgeRules, {})).toEqual({
      doneAfterMs: 7 * day,
      deadAfterMs: false,
      archive: false,
      batchSize: 500,
      intervalMs: 3_600_000,
    })
    expect(resolveOptions('purge', agePurgeRules, {})).toEqual({
      afterMs: 7 * day,
      batchSize: 500,
      intervalMs: 3_600_000,
    })
  })

  test('S4-037 archives by option whatever it would delete', () => {
    const tasks = finishedTasks(resolveOptions('purge', purgeRules, { deadAfterMs: day, archive: true }))
    expect(tasks).toEqual([
      { kind: 'FINISHED', status: 'DONE', olderThanMs: 7 * day, archive: true },
      { kind: 'FINISHED', status: 'DEAD', olderThanMs: day, archive: true },
    ])
  })

  test('S1-115 goes on batch by batch until one is not full', async () => {
    const { table, create, add, logger } = setup({ batchSize: 4 })
    add('DONE', 8 * day, 10)
    expect(await create().runOnce()).toBe(10)
    expect(table.calls.filter((call) => call === 'purge')).toHaveLength(3)
    expect(logger.lines.at(-1)).toMatchObject({ level: 'INFO', fields: { purged: 10 } })
  })

  test('S1-117 by age it deletes whatever became of a row', async () => {
    const { table, runtime, add } = setup()
    add('NEW', 2 * day)
    add('DONE', 2 * day)
    add('NEW', 0)
    const resolved = resolveOptions('purge', agePurgeRules, { afterMs: day })
    const byAge = purgeSchedulerOf({
      database: table,
      store: table.store,
      runtime,
      owner: 'one',
      ...resolved,
      tasks: ageTasks(resolved),
    })
    expect(await byAge.runOnce()).toBe(2)
  })

  test('S1-116 a failure is logged and the next run tries again', async () => {
    const { table, runtime, create, add, logger } = setup()
    add('DONE', 8 * day)
    let failures = 0
    table.before = (call) => {
      if (call === 'purge' && failures++ === 0) throw new Error('down')
    }
    const purge = create()
    await purge.start()
    await runtime.advance(60_000)
    expect(logger.lines.some(({ level, text }) => level === 'ERROR' && text.startsWith('Purge failed'))).toBe(true)
    expect(table.rows).toHaveLength(1)
    await runtime.advance(3_600_000)
    expect(table.rows).toEqual([])
    await runtime.run(() => purge.stop())
  })

  test('of several nodes one purges in an interval, and another does when that one is gone', async () => {
    const { table, runtime, create } = setup()
    const [one, two] = [create('one'), create('two')]
    await one.start()
    await two.start()
    await runtime.advance(3_000_000)
    expect(table.calls.filter((call) => call === 'purge')).toHaveLength(1)
    const holder = table.shards.get(-2)?.owner
    await runtime.run(() => (holder === 'one' ? one : two).stop())
    await runtime.advance(3_600_000)
    expect(table.calls.filter((call) => call === 'purge')).toHaveLength(2)
    await runtime.run(() => Promise.all([one.stop(), two.stop()]))
  })

  test('S1-116 cannot be started again', async () => {
    const { create, runtime } = setup()
    const purge = create()
    await purge.start()
    await runtime.run(() => purge.stop())
    await expect(purge.start()).rejects.toThrow(StateError)
  })
})
