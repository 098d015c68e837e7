import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeWith } from '@waybill/test-support'
import { afterAll, describe, expect, test } from 'vitest'
import { report, scale } from '../support/scale.ts'
import type { DatabaseAddress } from './support/open-database.ts'
import { OutboxScene, type SceneOptions } from './support/outbox-scene.ts'

/** A kill repeats at most what was delivered and not yet marked as finished: eight listeners and one batch. */
const mayRepeat = 2_000 + 8

const leaseMs = 2_000
const setups = {
  'one node': { mode: 'singleNode', leaseMs },
  'several nodes': { mode: 'multiNode', leaseMs },
  'several nodes, deleting': { mode: 'multiNode', leaseMs, whenDone: 'DELETE' },
  'in the order of keys': { mode: 'keyed', leaseMs },
  'by instance number': { mode: 'leasing', leaseMs },
  'one after the other': { mode: 'ordered', leaseMs },
} as const satisfies Record<string, SceneOptions>
type Setup = keyof typeof setups

/** In the order in which an event passes them. */
const anywhere = [
  'outbox.insert.before',
  'outbox.insert.after',
  'commit.before',
  'commit.after',
  'enqueue.after',
  'outbox.listener.before',
  'outbox.listener.after',
  'outbox.finish.before',
  'outbox.finish.after',
]
const claiming = ['outbox.claim.before', 'outbox.claim.after']
const points: Readonly<Record<Setup, readonly string[]>> = {
  'one node': [...anywhere, ...claiming],
  'several nodes': [...anywhere, ...claiming],
  'several nodes, deleting': ['outbox.listener.after', 'outbox.finish.before', 'outbox.finish.after'],
  'in the order of keys': [...anywhere, 'outbox.keyed.read.after'],
  'by instance number': [...anywhere, 'outbox.keyed.read.after'],
  // It has no commit hook, and so never reaches that point.
  'one after the other': [...anywhere.filter((point) => point !== 'enqueue.after'), ...claiming],
}

type Case = readonly [setup: Setup, point: string, handled: number]
/** After some events have passed. */
const later = 60
const casesOf = (setup: Setup): Case[] => points[setup].map((point): Case => [setup, point, later])
const casesOfPostgres: readonly Case[] = [
  ...(Object.keys(setups) as Setup[]).flatMap(casesOf),
  // At the very first event.
  ...points['several nodes'].map((point): Case => ['several nodes', point, 0]),
]
const casesOfMysql: readonly Case[] = [
  ...casesOf('several nodes'),
  ...casesOf('in the order of keys'),
  ...casesOf('by instance number'),
  ...casesOf('one after the other'),
]
/** SQLite has one writer at a time, so this covers what a process leaves behind, not several of them. */
const casesOfSqlite: readonly Case[] = [
  ...casesOf('one node'),
  ...casesOf('in the order of keys'),
  ...casesOf('one after the other'),
]
const smokeOfPostgres: readonly Case[] = [
  ['several nodes', 'commit.after', 20],
  ['in the order of keys', 'outbox.finish.before', 20],
]
const smokeOfMysql: readonly Case[] = [['several nodes', 'outbox.claim.after', 20]]
const title = 'loses nothing that was committed, delivers nothing else and repeats little: %s, at %s after %d'

async function killAndInherit(address: DatabaseAddress, [setup, point, handled]: Case): Promise<void> {
  const name = `${setup} ${point} ${handled}`
  await using scene = await OutboxScene.open(address, setups[setup])
  const victim = scene.node({ until: 1e6, lanes: 2, events: 1, everyMs: 2 }, { killAt: { point, handled } })
  expect(await scene.died(victim)).toEqual({ code: null, signal: 'SIGKILL' })
  const finished = await scene.finished()
  const written = await scene.book.count()

  const heir = scene.node({ until: written + 40, lanes: 2, events: 1, everyMs: 0 })
  await scene.settled(written + 40, [heir])
  await scene.end(heir)
  const { journal } = await scene.expectNothingWrong()
  const { repeated } = journal
  expect(repeated.filter((value) => finished.has(value))).toEqual([])
  expect(repeated.length).toBeLessThanOrEqual(mayRepeat)
  expect(journal.values('ROLLED_BACK')).not.toEqual([])
  report(`${address.dialect}, ${name}: ${written} committed before the kill, ${repeated.length} deliveries repeated`)
}

describeWith('postgres')('an outbox on PostgreSQL whose process is killed', ({ postgres }) => {
  test.concurrent.for(scale === 'WHOLE' ? casesOfPostgres : smokeOfPostgres)(title, { timeout: 120_000 }, (one) =>
    killAndInherit({ dialect: 'postgres', url: postgres.url }, one),
  )
})

describeWith('mysql')('an outbox on MariaDB whose process is killed', ({ mysql }) => {
  test.concurrent.for(scale === 'WHOLE' ? casesOfMysql : smokeOfMysql)(title, { timeout: 120_000 }, (one) =>
    killAndInherit({ dialect: 'mysql', url: mysql.url }, one),
  )
})

describe('an outbox on SQLite whose process is killed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-outbox-sqlite-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const smoke: readonly Case[] = [
    ['in the order of keys', 'outbox.finish.after', 20],
    ['by instance number', 'outbox.listener.after', 20],
    ['one after the other', 'outbox.listener.after', 20],
  ]
  test.concurrent.for(scale === 'WHOLE' ? casesOfSqlite : smoke)(title, { timeout: 120_000 }, (one) =>
    killAndInherit({ dialect: 'sqlite', file: join(folder, one.join('-').replaceAll(' ', '-')) }, one),
  )
})
