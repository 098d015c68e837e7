/** I22: a crash repeats an event only together with every later event of its key, in `ordered` of the table. */

import { systemTimers } from '@waybill/core/internal'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { report, scale } from '../support/scale.ts'
import type { DeliveryJournal, DeliveryLine } from './support/delivery-journal.ts'
import type { DatabaseAddress, ServerAddress } from './support/open-database.ts'
import { type Node, OutboxScene, patient, writesNothing } from './support/outbox-scene.ts'
import { deadlineCode } from './support/outbox-task.ts'

const modes = ['keyed', 'leasing', 'ordered'] as const
type Mode = (typeof modes)[number]

const leaseMs = 2_000
/** Long enough for each outcome to be written by a statement of its own. */
const handleMs = 20
/** Long enough for the statements of all outcomes that may be sent. */
const statementsMs = 1_000

const values = Array.from({ length: 20 }, (_, index) => `OK-${index + 1}`)

function openScene(address: DatabaseAddress, mode: Mode): Promise<OutboxScene> {
  return OutboxScene.open(address, { mode, leaseMs, handleMs })
}

/** Returns the values that a process started, in order. */
function startedBy(journal: DeliveryJournal, { pid }: Node): string[] {
  return journal.lines.filter((line) => line.pid === pid && line.step === 'START').map(({ value }) => value)
}

async function untilDelivered(scene: OutboxScene, some: readonly string[], step: DeliveryLine['step']): Promise<void> {
  await eventually(() => expect(scene.journal.values(step)).toEqual(expect.arrayContaining([...some])), patient)
}

/** Delivers the first of these events while another transaction has locked its row, and all behind it. */
async function deliverLocked(
  scene: OutboxScene,
  stuck: readonly string[],
  end: (node: Node) => Promise<unknown>,
): Promise<void> {
  await scene.write('key', [...values, ...stuck])
  await using locked = await scene.book.lockRow(values[0] as string)
  const node = scene.node(writesNothing, { stuckAt: stuck[0], stopDeadlineMs: 1_500 })
  await untilDelivered(scene, values, 'OK')
  await untilDelivered(scene, stuck, 'START')
  await systemTimers.sleep(statementsMs)
  expect(await scene.gaps()).toEqual([])
  await end(node)
  await locked[Symbol.asyncDispose]()
}

/** Lets another node deliver the rest, and checks that it delivers a suffix in order. */
async function inherit(scene: OutboxScene, all: readonly string[]): Promise<void> {
  const heir = scene.node(writesNothing)
  await scene.settled(all.length, [])
  await scene.end(heir)
  const repeated = startedBy(scene.journal, heir)
  expect(repeated).not.toEqual([])
  expect(repeated).toEqual(all.slice(-repeated.length))
  expect(await scene.halfRepeats()).toEqual([])
}

async function killLocked(address: DatabaseAddress, mode: Mode): Promise<void> {
  await using scene = await openScene(address, mode)
  await deliverLocked(scene, [], (node) => scene.kill(node))
  await inherit(scene, values)
}

/** Stops a node whose statements are blocked and whose listener ends only when it is aborted. */
async function stopLocked(address: DatabaseAddress, mode: Mode): Promise<void> {
  await using scene = await openScene(address, mode)
  const stuck = ['OK-21']
  await deliverLocked(scene, stuck, async (node) =>
    expect(await node.terminate()).toEqual({ code: deadlineCode, signal: null }),
  )
  await inherit(scene, [...values, ...stuck])
}

/** Freezes a node whose statements are blocked until its leases are over, and wakes it when all is done. */
async function freezeLocked(address: DatabaseAddress, mode: Mode): Promise<void> {
  await using scene = await openScene(address, mode)
  await scene.write('key', values)
  const locked = await scene.book.lockRow(values[0] as string)
  const zombie = scene.node(writesNothing)
  await untilDelivered(scene, values.slice(0, 10), 'OK')
  zombie.freeze()
  const before = startedBy(scene.journal, zombie)
  // A statement that still waits in the database must not get its lock after all.
  await systemTimers.sleep(2 * statementsMs)
  await locked[Symbol.asyncDispose]()
  await inherit(scene, values)
  const finished = await scene.book.table()
  zombie.thaw()
  await systemTimers.sleep(statementsMs)
  await scene.end(zombie)
  expect(startedBy(scene.journal, zombie)).toEqual(before)
  expect(await scene.book.table()).toEqual(finished)
}

/** Kills nodes under writes while rows are locked at random, and looks at the table all the time. */
async function killUnderLocks(address: DatabaseAddress, mode: Mode): Promise<void> {
  await using scene = await openScene(address, mode)
  const over = new AbortController()
  const [gaps, locks]: [string[], string[]] = [[], []]
  const locking = (async (): Promise<void> => {
    while (!over.signal.aborted) {
      gaps.push(...(await scene.gaps()))
      const pending = (await scene.book.table()).filter(({ status }) => status === 'NEW' || status === 'RETRY')
      const row = pending[Math.floor(Math.random() * Math.min(pending.length, 5))]
      if (row !== undefined) {
        await using _ = await scene.book.lockRow(row.value)
        locks.push(row.value)
        await systemTimers.sleep(100 + Math.random() * 600)
      } else await systemTimers.sleep(20)
    }
  })()
  // One lane: transactions that commit out of order have no order in `ordered`.
  const writing = { until: 1e6, lanes: 1, events: 2, everyMs: 5 }
  for (let kills = 0; kills < 4; kills++) {
    const node = scene.node(writing)
    const known = scene.journal.lines.length
    await eventually(() => expect(scene.journal.lines.length).toBeGreaterThan(known + 60), patient)
    await systemTimers.sleep(Math.random() * 500)
    await scene.kill(node)
  }
  over.abort()
  await locking
  const heir = scene.node(writesNothing)
  await scene.settled(1, [])
  await scene.end(heir)
  const { journal } = await scene.expectNothingWrong()
  expect(gaps).toEqual([])
  expect(await scene.halfRepeats()).toEqual([])
  expect(locks).not.toEqual([])
  report(`${address.dialect}, ${mode}: ${locks.length} rows locked, ${journal.repeated.length} deliveries repeated`)
}

const scenes = {
  'killed while a finish waits for a locked row': killLocked,
  'stopped at its deadline while a finish waits for a locked row': stopLocked,
  'frozen until its leases expire while a finish waits for a locked row': freezeLocked,
  'killed repeatedly under writes while rows are locked': killUnderLocks,
} as const
type Case = readonly [name: keyof typeof scenes, mode: Mode]

const names = Object.keys(scenes) as (keyof typeof scenes)[]
const cases: readonly Case[] = names.flatMap((name) => modes.map((mode): Case => [name, mode]))
const title = 'I22 repeats no event without everything behind it: %s, %s'

function runCase(address: ServerAddress, [name, mode]: Case): Promise<void> {
  return scenes[name](address, mode)
}

describeWith('postgres')('a node on PostgreSQL', ({ postgres }) => {
  const some = scale === 'WHOLE' ? cases : cases.slice(0, 2)
  test.concurrent.for(some)(title, { timeout: 180_000 }, (one) =>
    runCase({ dialect: 'postgres', url: postgres.url }, one),
  )
})

describeWith('mysql')('a node on MariaDB', ({ mysql }) => {
  const some = scale === 'WHOLE' ? cases : cases.slice(2, 3)
  test.concurrent.for(some)(title, { timeout: 180_000 }, (one) => runCase({ dialect: 'mysql', url: mysql.url }, one))
})
