import { prometheusContentType, prometheusText } from '@waybill/core/internal'
import { expect, test } from 'vitest'
import { adminWorld } from '../support/admin-world.ts'

test('the metrics are the page that @waybill/telemetry writes, with the prefix of an outbox as a label', () =>
  adminWorld({}, async ({ ask, metrics }) => {
    metrics.counter('billing.outbox.dispatch.dead', {}, 2)
    metrics.histogram('eventbus.processing.duration', { binding: 'a', cluster: 'b', listenerType: 'SINGLE' }, 2)
    const { status, headers, text } = await ask('GET', '/metrics')
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: prometheusContentType })
    expect(text).toBe(prometheusText(metrics))
    expect(text).toContain('outbox_dispatch_dead_total{outbox="billing.outbox"} 2\n')
    expect(text).toContain(
      'eventbus_processing_duration_seconds_count{binding="a",cluster="b",listener_type="SINGLE"} 1\n',
    )
  }))
