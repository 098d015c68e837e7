import { describe, expect, test } from 'vitest'
import type { OperationKind } from '../../src/operations/operation-kind.ts'
import { ana, inScene, type OperationsScene } from './operations-scene.ts'

/** A kind whose first reading never ends by itself, as that of a broker that does not answer. */
function stuckKind(): { readonly kind: OperationKind; readonly events: string[] } {
  const events: string[] = []
  const kind: OperationKind = {
    type: 'INDEX_REBUILD',
    isIdempotent: true,
    isExclusive: false,
    plan: async () => ({ target: 'shipping', request: { limit: 1, rate: 50, abortWhen: false }, ranges: [], plan: {} }),
    open: async () => ({
      next(_, signal) {
        events.push('reads')
        const { promise, reject } = Promise.withResolvers<never>()
        signal.addEventListener('abort', () => {
          events.push('aborted')
          reject(signal.reason)
        })
        return promise
      },
      apply: async () => expect.fail('there is no batch'),
      async [Symbol.asyncDispose]() {
        events.push('disposed')
      },
    }),
  }
  return { kind, events }
}

async function stuck(
  scene: OperationsScene,
): Promise<
  Pick<Awaited<ReturnType<OperationsScene['operations']>>, 'wish' | 'stop'> & { id: string; events: string[] }
> {
  const { kind, events } = stuckKind()
  const operations = await scene.operations({ kinds: [kind] })
  const { id } = await operations.create({ type: 'INDEX_REBUILD', binding: 'shipping' }, ana)
  await scene.until(() => expect(events).toEqual(['reads']))
  return { wish: (...given) => operations.wish(...given), stop: (options) => operations.stop(options), id, events }
}

describe('a reading that does not end', () => {
  test('is left when the process stops, and another process takes the operation at once', () =>
    inScene(async (scene) => {
      const { stop, id, events } = await stuck(scene)
      const before = scene.runtime.clock.monotonic()
      await stop({ deadlineMs: 60_000 })
      expect(scene.runtime.clock.monotonic() - before).toBeLessThan(1_000)
      expect(events).toEqual(['reads', 'aborted', 'disposed'])
      expect(await scene.store.get(id)).toMatchObject({ state: 'RUNNING', runner: undefined })
    }))

  test.each([
    ['CANCEL', 'CANCELLED'],
    ['PAUSE', 'PAUSED'],
  ] as const)('is left for %s', (wish, state) =>
    inScene(async (scene) => {
      const { wish: give, id, events } = await stuck(scene)
      await give(id, wish, ana)
      await scene.reached(id, state)
      expect(events).toEqual(['reads', 'aborted', 'disposed'])
    }),
  )
})
