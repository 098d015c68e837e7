import type { Tracer } from '@waybill/core'
import type { SendScope, SendSpan } from '@waybill/core/internal'
import type { OutRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { withinSendSpan } from '../../src/records/derived-span.ts'
import { textRecord } from './fetched.ts'

const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const traced = textRecord('orders.DLT', [
  ['x-eventbus-attempt-traceparent', parent],
  ['traceparent', traceparent],
])
const written = { partition: 1, offset: 7n }

/** Returns a tracer that keeps what its spans were given. */
function recordingTracer() {
  const seen: unknown[] = []
  const span: SendSpan = {
    run: (work) => {
      seen.push('run')
      return work()
    },
    sent: (result) => void seen.push(['sent', result]),
    failed: (error) => void seen.push(['failed', error]),
  }
  const send = (scope: SendScope): SendSpan => {
    seen.push(scope)
    return span
  }
  return { seen, tracer: { send } as unknown as Tracer }
}

describe('the span of a derived record', () => {
  test('is a child of the delivery that failed, and ends with the result', async () => {
    const { seen, tracer } = recordingTracer()
    expect(await withinSendSpan(tracer, traced, async () => written)).toBe(written)
    expect(seen).toEqual([
      { topic: 'orders.DLT', parent, traceparent, tracestate: undefined },
      'run',
      ['sent', written],
    ])
  })

  test('ends with the error of a write that failed, which is passed on', async () => {
    const { seen, tracer } = recordingTracer()
    const error = new Error('too large')
    await expect(withinSendSpan(tracer, traced, () => Promise.reject(error))).rejects.toBe(error)
    expect(seen.slice(1)).toEqual(['run', ['failed', error]])
  })

  test('is none where the delivery had none', async () => {
    const { seen, tracer } = recordingTracer()
    const untraced: OutRecord = textRecord('orders.DLT', [['traceparent', traceparent]])
    expect(await withinSendSpan(tracer, untraced, async () => written)).toBe(written)
    expect(seen).toEqual([])
  })
})
