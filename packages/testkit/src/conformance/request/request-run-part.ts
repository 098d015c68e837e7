import assert from 'node:assert/strict'
import {
  createRequestIdempotency,
  type RequestIdempotency,
  RequestInProgressError,
  RequestKeyReusedError,
  type RequestSteps,
} from '@waybill/core/idempotency'
import { IntendedFailureError } from '../../connector/intended-failure-error.ts'
import { until } from '../suite/until.ts'
import { type RequestScene, type RequestSuite, shortTtlMs } from './request-scene.ts'

const request = { caller: 'alice', key: 'key-1', body: { sku: 'A-1', quantity: 2 } }

/** Tests of requests over the store. */
export function requestRunPart({ describe, test }: RequestSuite): void {
  describe('a request with a key', () => {
    test('runs once, and every node returns its result to a repeat', async (scene) => {
      const [one, other] = nodes(scene)
      const orders = new Orders()
      assert.deepEqual(await one.run(request, orders), { result: 'order-1', isReplay: false })
      assert.deepEqual(await one.run(request, orders), { result: 'order-1', isReplay: true })
      const reordered = { ...request, body: { quantity: 2, sku: 'A-1' } }
      assert.deepEqual(await other.run(reordered, orders), { result: 'order-1', isReplay: true })
      assert.equal(orders.created, 1)
    })

    test('lets one of many at once run; the others are told that it is in progress', async (scene) => {
      const [one, other] = nodes(scene)
      const orders = new Orders()
      const answers = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).run(request, orders)),
      )
      assert.equal(orders.created, 1)
      for (const answer of answers) {
        if (answer.status === 'fulfilled') assert.equal(answer.value.result, 'order-1')
        else assert.ok(answer.reason instanceof RequestInProgressError, String(answer.reason))
      }
      assert.deepEqual(await other.run(request, orders), { result: 'order-1', isReplay: true })
    })

    test('may run again after its rollback', async (scene) => {
      const [one, other] = nodes(scene)
      const orders = new Orders()
      const thrown = new IntendedFailureError(1, 1)
      const failing = { ...orders.steps, create: () => Promise.reject(thrown) }
      await assert.rejects(one.run(request, failing), (error) => error === thrown)
      assert.deepEqual(await other.run(request, orders), { result: 'order-1', isReplay: false })
    })

    test('is refused with another content, while it runs and afterwards', async (scene) => {
      const [one, other] = nodes(scene)
      const orders = new Orders()
      const another = { ...request, body: { sku: 'A-1', quantity: 3 } }
      const leave = Promise.withResolvers<void>()
      const entered = Promise.withResolvers<void>()
      const running = one.run(request, {
        ...orders.steps,
        create: async () => {
          entered.resolve()
          await leave.promise
          return orders.create()
        },
      })
      await entered.promise
      await assert.rejects(other.run(another, orders), RequestKeyReusedError)
      await assert.rejects(other.run(request, orders), RequestInProgressError)
      leave.resolve()
      await running
      await assert.rejects(other.run(another, orders), RequestKeyReusedError)
      assert.equal(orders.created, 1)
    })

    test("is its caller's alone", async (scene) => {
      const [one, other] = nodes(scene)
      const orders = new Orders()
      await one.run(request, orders)
      assert.deepEqual(await other.run({ ...request, caller: 'bob' }, orders), { result: 'order-2', isReplay: false })
    })

    test('runs again once the mark of a crashed process has expired', async (scene) => {
      const [, other] = nodes(scene, shortTtlMs)
      const orders = new Orders()
      const crashed = Promise.withResolvers<never>()
      const [doomed] = nodes(scene, shortTtlMs)
      const entered = Promise.withResolvers<void>()
      const lost = doomed.run(request, {
        ...orders.steps,
        create: () => {
          entered.resolve()
          return crashed.promise
        },
      })
      await entered.promise
      const outcome = await until(
        scene.subject.runtime,
        () => other.run(request, orders).catch(() => null),
        (answer) => answer !== null,
      )
      assert.deepEqual(outcome, { result: 'order-1', isReplay: false })
      // It wakes up, fails, and must not delete what came after it.
      crashed.reject(new IntendedFailureError(1, 1))
      await assert.rejects(lost, IntendedFailureError)
      assert.deepEqual(await other.run(request, orders), { result: 'order-1', isReplay: true })
    })
  })
}

function nodes({ subject: { stores, runtime } }: RequestScene, inProgressTtlMs = 60_000) {
  const node = (store: (typeof stores)[number]): RequestIdempotency =>
    createRequestIdempotency({ store, runtime, inProgressTtlMs, storeTimeoutMs: 20_000, onStoreFailure: 'REJECT' })
  return [node(stores[0]), node(stores[1])] as const
}

/** Orders as a database keeps them. */
class Orders implements RequestSteps<string> {
  readonly #orders = new Set<string>()

  get created(): number {
    return this.#orders.size
  }

  get steps(): RequestSteps<string> {
    return {
      create: () => this.create(),
      referenceOf: (order) => this.referenceOf(order),
      load: (reference) => this.load(reference),
    }
  }

  async create(): Promise<string> {
    const order = `order-${this.#orders.size + 1}`
    this.#orders.add(order)
    return order
  }

  referenceOf(order: string): string {
    return order
  }

  async load(reference: string): Promise<string | null> {
    return this.#orders.has(reference) ? reference : null
  }
}
