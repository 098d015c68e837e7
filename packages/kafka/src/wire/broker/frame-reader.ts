/** Splits a TCP stream into Kafka's frames: a length of 32 bits, then that many bytes. */

import { Buffer } from 'node:buffer'
import { WaybillError } from '@waybill/core'

/** A peer that does not send Kafka's frames, or sends one above the limit. */
export class FrameError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_FRAME'
}

const lengthBytes = 4

/**
 * Takes chunks and returns whole frames, without their lengths.
 *
 * A frame within one chunk is a view of it. A longer frame is assembled in memory of its claimed size, which `maxBytes`
 * bounds: a peer cannot make a connection hold more.
 */
export class FrameReader {
  readonly #maxBytes: number
  /** The received bytes of the next frame's length. */
  readonly #prefix: Buffer = Buffer.allocUnsafe(lengthBytes)
  #prefixFilled = 0
  /** The frame being assembled; null between frames. */
  #frame: Buffer | null = null
  #frameFilled = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Returns the frames that the chunk completes. @throws FrameError, after which nothing more can be read. */
  push(chunk: Buffer): Buffer[] {
    const frames: Buffer[] = []
    let at = 0
    while (at < chunk.length) {
      if (this.#frame !== null) {
        const copied = chunk.copy(this.#frame, this.#frameFilled, at)
        at += copied
        this.#frameFilled += copied
        if (this.#frameFilled === this.#frame.length) {
          frames.push(this.#frame)
          this.#frame = null
        }
        continue
      }
      const copied = chunk.copy(this.#prefix, this.#prefixFilled, at)
      at += copied
      this.#prefixFilled += copied
      if (this.#prefixFilled < lengthBytes) break
      this.#prefixFilled = 0
      const length = this.#checkedLength()
      if (chunk.length - at >= length) {
        frames.push(chunk.subarray(at, at + length))
        at += length
      } else {
        this.#frame = Buffer.allocUnsafeSlow(length)
        this.#frameFilled = 0
      }
    }
    return frames
  }

  #checkedLength(): number {
    const length = this.#prefix.readInt32BE()
    // A frame holds at least a correlation id.
    if (length >= 4 && length <= this.#maxBytes) return length
    throw new FrameError(`The peer announced a frame of ${length} bytes.`, {
      hint: `Check that the peer is a Kafka broker and that both sides use TLS or neither does. For responses above ${this.#maxBytes} bytes raise maxResponseBytes.`,
    })
  }
}
