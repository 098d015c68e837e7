import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { report, scale } from '../support/scale.ts'
import { type DeliveryJournal, noMisdeeds } from './support/delivery-journal.ts'
import type { DatabaseAddress } from './support/open-database.ts'
import { OutboxScene, patient, type SceneOptions, writesNothing } from './support/outbox-scene.ts'

const leaseMs = 2_000
const events = 40

const setups: readonly (readonly [string, SceneOptions])[] = [
  ['rows are claimed', { mode: 'multiNode', leaseMs, handleMs: 100 }],
  ['in the order of keys', { mode: 'keyed', leaseMs, handleMs: 100 }],
]

/** Returns the events that a process started, and those that it completed. */
function workOf(journal: DeliveryJournal, pid: number): { readonly started: string[]; readonly ended: string[] } {
  const own = journal.lines.filter((line) => line.pid === pid)
  const valuesOf = (step: string): string[] => own.filter((line) => line.step === step).map(({ value }) => value)
  return { started: valuesOf('START'), ended: valuesOf('OK') }
}

/** Freezes one node in the middle of its work for longer than its leases last, and wakes it when all is done. */
async function freezeAndThaw(address: DatabaseAddress, [name, options]: (typeof setups)[number]): Promise<void> {
  await using scene = await OutboxScene.open(address, options)
  const zombie = scene.node({ until: events, lanes: 8, events: 1, everyMs: 0 })
  await eventually(() => expect(workOf(scene.journal, zombie.pid).ended.length).toBeGreaterThan(2), patient)
  await eventually(
    () => {
      const { started, ended } = workOf(scene.journal, zombie.pid)
      expect(started.length - ended.length).toBeGreaterThan(3)
    },
    { ...patient, everyMs: 1 },
  )
  zombie.freeze()
  const frozenWith = workOf(scene.journal, zombie.pid)
  const heir = scene.node(writesNothing)
  await scene.settled(1, [])
  const finished = await scene.book.outbox()
  const deliveredByHeir = new Set(workOf(scene.journal, heir.pid).ended)

  zombie.thaw()
  const inHand = frozenWith.started.filter((value) => !frozenWith.ended.includes(value) && value.startsWith('OK'))
  await eventually(
    () => expect(workOf(scene.journal, zombie.pid).ended).toEqual(expect.arrayContaining(inHand)),
    patient,
  )
  // It continues with what its writers had not begun: a zombie that is back is a node like any other.
  await scene.settled(events, [zombie])
  const counters = await scene.end(zombie)
  const countersOfHeir = await scene.end(heir)

  const { journal } = scene
  const { started } = workOf(journal, zombie.pid)
  const startedAfterHeir = started.slice(frozenWith.started.length).filter((value) => deliveredByHeir.has(value))
  expect(startedAfterHeir).toEqual([])
  const fenced = inHand.filter((value) => deliveredByHeir.has(value))
  expect(fenced).not.toEqual([])
  expect(counters['outbox.finish.fenced']).toBeGreaterThanOrEqual(fenced.length)
  expect(countersOfHeir['outbox.finish.fenced'] ?? 0).toBe(0)
  // The rows that the heir finished are unchanged: no late finish has changed a row, its attempts included.
  const now = await scene.book.outbox()
  expect(new Map([...finished].map(([id]) => [id, now.get(id)]))).toEqual(finished)
  expect(journal.misdeeds().fallingAttempts).toEqual(noMisdeeds.fallingAttempts)
  report(`${address.dialect}, ${name}: ${fenced.length} finishes of the zombie were refused`)
}

const title = 'changes no row that another node has finished, and its late finishes are counted: %s'

describeWith('postgres')('a node on PostgreSQL that was frozen for longer than its leases', ({ postgres }) => {
  test.concurrent.for(scale === 'WHOLE' ? setups : setups.slice(0, 1))(title, { timeout: 120_000 }, (setup) =>
    freezeAndThaw({ dialect: 'postgres', url: postgres.url }, setup),
  )
})

describeWith('mysql')('a node on MariaDB that was frozen for longer than its leases', ({ mysql }) => {
  test.concurrent.for(scale === 'WHOLE' ? setups : setups.slice(1))(title, { timeout: 120_000 }, (setup) =>
    freezeAndThaw({ dialect: 'mysql', url: mysql.url }, setup),
  )
})
