/** Cuts a TCP stream into Kafka's frames: 32 bits of length, then that many bytes. */

import { Buffer } from 'node:buffer'
import { WaybillError } from '@waybill/core'

/** A peer that sends something else than Kafka's frames, or a longer one than we take. */
export class FrameError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_FRAME'
}

const lengthBytes = 4

/**
 * Takes chunks and gives back whole frames, without their length.
 *
 * A frame inside one chunk is a view of it. A longer one is gathered in memory of its claimed size, which `maxBytes`
 * bounds: that is all a peer can make us hold.
 */
export class FrameReader {
  readonly #maxBytes: number
  /** As much of the next frame's length as has arrived. */
  readonly #prefix: Buffer = Buffer.allocUnsafe(lengthBytes)
  #prefixFilled = 0
  /** The frame being gathered; null between frames. */
  #frame: Buffer | null = null
  #frameFilled = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** @throws FrameError after which nothing more can be read. */
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
    // A frame holds at least the number of the request it answers.
    if (length >= 4 && length <= this.#maxBytes) return length
    throw new FrameError(`The peer announced a frame of ${length} bytes.`, {
      hint: `Check that it is a Kafka broker, that TLS is on here if it is there, and that no answer can be larger than ${this.#maxBytes} bytes.`,
    })
  }
}
