import type { KafkaApi, KafkaTransport, RequestOf, ResponseOf } from '@waybill/kafka/wire'

/** Heartbeats that reached the coordinator. */
export interface HeartbeatCount {
  sent: number
}

/** Returns a transport that counts heartbeats. */
export function counted(transport: KafkaTransport, count: HeartbeatCount): KafkaTransport {
  return limited(transport, 0, count)
}

/**
 * Returns a transport that sends a heartbeat once per interval, from the member's first generation on, and acknowledges
 * all others itself. A member that heartbeats every 100 ms on it is a member that heartbeats at the interval, whatever
 * happens in the group.
 */
export function everyInterval(transport: KafkaTransport, intervalMs: number, count: HeartbeatCount): KafkaTransport {
  return limited(transport, intervalMs, count)
}

function limited(transport: KafkaTransport, intervalMs: number, count: HeartbeatCount): KafkaTransport {
  let nextAt: number | undefined
  const isSent = (api: KafkaApi): boolean => {
    if (api !== 'Heartbeat') return true
    if (nextAt === undefined || performance.now() < nextAt) return false
    nextAt = performance.now() + intervalMs
    count.sent++
    return true
  }
  return {
    async connect(node, clientId, signal) {
      const connection = await transport.connect(node, clientId, signal)
      return {
        ended: connection.ended,
        async send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> {
          if (!isSent(api)) return { errorCode: 0 } as unknown as ResponseOf<A>
          const response = await connection.send(api, request)
          if (api === 'SyncGroup') nextAt ??= performance.now() + intervalMs
          return response
        },
        close: () => connection.close(),
      }
    },
  }
}
