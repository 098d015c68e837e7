import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { PollQueue } from '../../../src/client/fetch/poll-queue.ts'

function queueOf(items: number[]) {
  const runtime = createVirtualRuntime(1)
  return { runtime, queue: new PollQueue<number>(runtime, (max) => items.splice(0, max)) }
}

describe('a poll queue', () => {
  test('hands out at once what is there', async () => {
    const { queue } = queueOf([1, 2, 3])
    expect(await queue.poll(2, 1_000)).toEqual([1, 2])
  })

  test('waits for the first item and not for more', async () => {
    const items: number[] = []
    const { queue } = queueOf(items)
    const polled = queue.poll(10, 1_000)
    items.push(1)
    queue.serve()
    expect(await polled).toEqual([1])
  })

  test('answers nothing after the timeout', async () => {
    const { runtime, queue } = queueOf([])
    const startedAt = runtime.clock.monotonic()
    expect(await runtime.run(() => queue.poll(10, 250))).toEqual([])
    expect(runtime.clock.monotonic() - startedAt).toBe(250)
  })

  test('yields to the event loop when there is nothing and the timeout is 0', async () => {
    const { runtime, queue } = queueOf([])
    let isDone = false
    const polled = queue.poll(1, 0).then(() => (isDone = true))
    await Promise.resolve()
    expect(isDone).toBe(false)
    await runtime.advance(0)
    await polled
  })

  test('serves those who wait in the order in which they came', async () => {
    const items: number[] = []
    const { queue } = queueOf(items)
    const first = queue.poll(1, 1_000)
    const second = queue.poll(5, 1_000)
    items.push(1, 2, 3)
    const late = queue.poll(1, 1_000)
    queue.serve()
    expect(await Promise.all([first, second])).toEqual([[1], [2, 3]])
    queue.dismiss()
    expect(await late).toEqual([])
  })

  test('ends all waits at once, with an error if there is one', async () => {
    const { queue } = queueOf([])
    const polled = queue.poll(1, 1_000)
    queue.dismiss(new Error('over'))
    await expect(polled).rejects.toThrow('over')
  })

  test('counts only the time without a pending poll as idle', async () => {
    const { runtime, queue } = queueOf([])
    const polled = queue.poll(1, 500)
    await runtime.advance(400)
    expect(queue.idleMs).toBe(0)
    await runtime.advance(300)
    await polled
    expect(queue.idleMs).toBe(200)
  })
})
