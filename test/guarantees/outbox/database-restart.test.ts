import { systemTimers } from '@waybill/core/internal'
import { describeWithPrivate, loadPlaceKind } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { report, scale } from '../support/scale.ts'
import { OutboxScene, patient, type SceneOptions } from './support/outbox-scene.ts'

const services = ['postgres', 'mysql'] as const
const restarts = 3
/** Longer than the database may be down: leases do not expire, so every redelivery is a fault. */
const leaseMs = 60_000
const downMs = 500

const setups: readonly (readonly [string, SceneOptions])[] = [
  ['rows are claimed', { mode: 'multiNode', leaseMs }],
  ['in the order of keys', { mode: 'keyed', leaseMs }],
]

for (const name of services) {
  const title = `a ${name} database that is killed while an outbox works`
  if (scale === 'SMOKE') {
    test(title, (context) => context.skip('it takes minutes: npm run guarantees'))
    continue
  }
  describeWithPrivate(name)(title, (service) => {
    test.for(setups)(
      'keeps what it said was committed; everything is delivered, and nothing twice: %s',
      { timeout: 240_000 },
      async ([called, options], { task }) => {
        const place = (await loadPlaceKind(name)).create(service().url, `restart_${task.id.replaceAll(/\W/g, '_')}`)
        await place.open()
        {
          await using scene = await OutboxScene.open({ dialect: name, url: place.url }, options)
          const writing = { until: 1e6, lanes: 4, events: 2, everyMs: 2 }
          const nodes = [scene.node(writing), scene.node(writing)]
          await Promise.all(nodes.map((node) => scene.running(node)))
          for (let restart = 0; restart < restarts; restart++) {
            const before = scene.journal.values('OK').length
            await eventually(() => expect(scene.journal.values('OK').length).toBeGreaterThan(before + 100), patient)
            await service().kill()
            await systemTimers.sleep(downMs)
            await service().start()
          }
          const before = scene.journal.values('OK').length
          await eventually(() => expect(scene.journal.values('OK').length).toBeGreaterThan(before + 100), patient)
          for (const node of nodes) await scene.end(node)
          // A node that ends stops writing; a third one delivers what its stop left over.
          const heir = scene.node({ until: 0, lanes: 0, events: 1, everyMs: 0 })
          await scene.settled(1, [])
          await scene.end(heir)
          const { rows, journal } = await scene.expectNothingWrong()
          report(
            `${name}, ${called}: ${rows.length} events through ${restarts} crashes of the database, ` +
              `${journal.values('UNKNOWN').length} events of commits without an answer, ` +
              `${journal.repeated.length} deliveries repeated`,
          )
        }
        await place.close()
      },
    )
  })
}
