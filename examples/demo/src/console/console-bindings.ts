import type { ConnectorOptions } from '@waybill/connector'
import { handleEvents } from '@waybill/connector'
import { NonRetryableError } from '@waybill/core'
import { shopEvents, topics } from './console-events.ts'

/** An answer of a service that the shop depends on. */
class HttpError extends Error {
  override readonly name = 'HttpError'
}

/** How the services behave that handlers call. */
export interface Dependencies {
  /** Whether the service that checks for fraud answers. */
  isFraudCheckUp: boolean
  /** Whether shipping is fixed: every carrier then answers. */
  isShippingFixed: boolean
}

/** Returns bindings that show what a console is for: retries, dead letters, a breaker, a blocked key, a pause. */
export function consoleBindings(dependencies: Dependencies): NonNullable<ConnectorOptions['bindings']> {
  return {
    shipping: {
      topic: topics.orders,
      groupId: 'shipping',
      parallelism: 'KEY',
      retry: {
        tier0: { maxAttempts: 1 },
        tiers: [
          { delayMs: 2_000, maxAttempts: 1 },
          { delayMs: 10_000, maxAttempts: 1 },
          { delayMs: 60_000, maxAttempts: 1 },
        ],
      },
      handler: handleEvents(shopEvents, {
        'order.placed': ({ payload: { orderId, carrier } }, { tier }) => {
          if (dependencies.isShippingFixed) return
          if (carrier === 'NONE') throw new NonRetryableError(`There is no carrier for ${orderId}.`)
          if (carrier === 'AWAY' || (carrier === 'FLAKY' && tier === 0))
            throw new HttpError(`502 from shipping-api for ${orderId}`)
        },
      }),
    },
    'fraud-check': {
      topic: topics.orders,
      groupId: 'fraud-check',
      // Several groups read this topic: each has retry topics and dead letters of its own.
      retryTopicNaming: 'PER_GROUP',
      circuitBreaker: { enabled: true, slidingWindowSize: 20, waitDurationInOpenStateMs: 15_000 },
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 5_000 }] },
      handler: () => {
        if (!dependencies.isFraudCheckUp) throw new HttpError('503 from fraud-api')
      },
    },
    inventory: {
      topic: topics.stock,
      groupId: 'inventory',
      orderingMode: 'KEY',
      parallelism: 'KEY',
      keyOrder: { onDeadKey: 'BLOCK' },
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 2_000, maxAttempts: 1 }] },
      handler: ({ value }) => {
        const text = String(value)
        if (text.includes('"pieces":-')) throw new NonRetryableError(`A count below zero: ${text}`)
      },
    },
    billing: { topic: topics.invoices, groupId: 'billing', handler: () => {} },
    mail: { topic: topics.orders, groupId: 'mail', retryTopicNaming: 'PER_GROUP', handler: () => {} },
  }
}
