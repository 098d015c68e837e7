import { createSimCluster } from '@waybill/sim'
import { describeWith } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'
import { collect } from '../support/collect-journey.ts'
import type { CollectedSpan } from '../support/otlp-collector.ts'

/** Returns the only span with a name. */
function only(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const [span, ...others] = spans.filter((one) => one.name === name)
  if (span === undefined || others.length > 0)
    throw new Error(`Expected one span ${name} among ${spans.map((one) => one.name).join(', ')}.`)
  return span
}

function expectJourney(spans: readonly CollectedSpan[], prefix: string): void {
  const orders = `${prefix}orders`
  const request = only(spans, 'POST /orders')
  const create = only(spans, 'create order.placed')
  const send = only(spans, `send ${orders}`)
  const [first, replayed, ...more] = spans.filter(({ name }) => name === `process ${orders}`)
  expect(more).toEqual([])
  // Commit, publish and first attempt are one trace over two services.
  expect(create).toMatchObject({ service: 'shop', trace: request.trace, parent: request.id })
  expect(send).toMatchObject({ service: 'shop', trace: request.trace, parent: create.id, links: [create.id] })
  expect(first).toMatchObject({ service: 'warehouse', trace: request.trace, parent: create.id, links: [create.id] })
  // Each tier is a trace of its own, linked to the creation and to the attempt before.
  let before = first
  for (const tier of [1, 2, 3]) {
    const topic = `${orders}.retry-${tier}`
    expect(only(spans, `send ${topic}`)).toMatchObject({ trace: before?.trace, parent: before?.id })
    const retry = only(spans, `process ${topic}`)
    expect(retry).toMatchObject({ service: 'warehouse', parent: undefined, links: [create.id, before?.id] })
    expect(retry.trace).not.toBe(before?.trace)
    expect(retry.attributes).toMatchObject({
      'waybill.tier': String(tier),
      'messaging.message.id': create.attributes['messaging.message.id'],
    })
    before = retry
  }
  expect(only(spans, `send ${orders}.DLT`)).toMatchObject({ trace: before?.trace, parent: before?.id })
  expect(replayed).toMatchObject({ service: 'warehouse', parent: undefined, links: [create.id, before?.id] })
  expect(replayed?.attributes).toMatchObject({ 'waybill.replay_count': '1', 'waybill.outcome': 'DONE' })
  expect(only(spans, 'create order.shipped')).toMatchObject({ trace: replayed?.trace, parent: replayed?.id })
  // The request, three tiers and the replay.
  expect(new Set(spans.map(({ trace }) => trace)).size).toBe(5)
}

const title = 'a collector receives the trace of an event from two processes, and those of its tiers and its replay'

describe('on a simulated cluster', () => {
  test(title, async () => {
    const simulated = createSimCluster()
    for (const topic of ['orders', 'shipments']) simulated.createTopic(topic)
    expectJourney(await collect({ brokers: simulated.brokers, prefix: '', simulated }), '')
  }, 120_000)
})

describeWith('kafka')('on Apache Kafka', (places) => {
  test(title, async () => {
    const { kafka } = places
    for (const topic of ['orders', 'shipments']) await kafka.createTopic(topic)
    const { bootstrap: brokers, prefix } = kafka
    expectJourney(await collect({ brokers, prefix, simulated: undefined }), prefix)
  }, 120_000)
})
