/** The records of every client: a third random digits, the rest text, ten thousand keys, three headers. */

const text = '{"type":"order.created","customer":"customer-42","status":"pending"}'

/** Creates 1,024 values of that size. */
export function payloads(bytes: number): Buffer[] {
  let state = 123_456_789
  return Array.from({ length: 1_024 }, () => {
    let value = ''
    while (value.length < bytes) {
      if (value.length % 96 < 32) {
        state ^= state << 13
        state ^= state >>> 17
        state ^= state << 5
        value += (state >>> 0).toString(16).padStart(8, '0')
      } else {
        value += text[value.length % text.length]
      }
    }
    return Buffer.from(value.slice(0, bytes), 'latin1')
  })
}

export const keys: readonly Buffer[] = Array.from({ length: 10_000 }, (_, index) =>
  Buffer.from(`key-${String(index).padStart(6, '0')}`),
)

/** Spreads neighboring records over keys, and so over partitions. */
export function keyOf(index: number): Buffer {
  return keys[(index * 7_919) % keys.length] as Buffer
}

export const headers: readonly (readonly [string, Buffer])[] = [
  ['traceparent', Buffer.from('0af7651916cd43dd8448eb211c80319c')],
  ['content-type', Buffer.from('application/json')],
  ['event-type', Buffer.from('order.created')],
]
