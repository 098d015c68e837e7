import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { isAbort } from '../api/client.ts'
import { type Problem, problemOf } from '../api/problem.ts'
import { every, now } from './clock.ts'
import { live } from './live.ts'

/** An answer that is read again and again. A failed reading keeps the values before it. */
export interface Resource<T> {
  readonly value: T | undefined
  /** When the value was read, epoch ms. */
  readonly asOf: number | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

interface State<T> {
  readonly value: T | undefined
  readonly asOf: number | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
}

const usualMs = 5_000

/**
 * Reads when the page opens, when what it depends on changes, and every few seconds while the page is visible and not paused.
 * @param options.everyMs - 0: only when it changes
 */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  deps: readonly unknown[],
  options: { readonly everyMs?: number } = {},
): Resource<T> {
  const { everyMs = usualMs } = options
  const [state, setState] = useState<State<T>>({
    value: undefined,
    asOf: undefined,
    problem: undefined,
    isLoading: true,
  })
  const running = useRef<AbortController | undefined>(undefined)
  const latest = useRef(load)
  latest.current = load
  const read = useCallback(async (isPoll: boolean): Promise<void> => {
    // A slow answer is awaited, not asked for again.
    if (isPoll && running.current !== undefined) return
    running.current?.abort()
    const own = new AbortController()
    running.current = own
    if (!isPoll) setState((before) => ({ ...before, isLoading: true }))
    try {
      const value = await latest.current(own.signal)
      if (running.current === own) setState({ value, asOf: now(), problem: undefined, isLoading: false })
    } catch (error) {
      if (isAbort(error) || running.current !== own) return
      setState((before) => ({ ...before, problem: problemOf(error), isLoading: false }))
    } finally {
      if (running.current === own) running.current = undefined
    }
  }, [])
  useEffect(() => {
    void read(false)
    return () => {
      running.current?.abort()
      running.current = undefined
    }
  }, deps)
  const isPaused = live.isPaused.value
  useEffect(() => {
    if (everyMs === 0 || isPaused) return undefined
    return every(everyMs, () => {
      if (!document.hidden) void read(true)
    })
  }, [everyMs, isPaused])
  return { ...state, reload: () => void read(false) }
}
