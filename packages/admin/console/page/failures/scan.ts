import { useEffect, useState } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { isAbort, stream } from '../../api/client.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { wireRequest } from '../../api/request.ts'
import { type FailureFilter, queryOf } from './failure-filter.ts'

/** A reading of the topics themselves. */
export interface Scan {
  readonly state: 'RUNNING' | 'STOPPED' | 'DONE' | 'FAILED'
  readonly read: string
  readonly of: string
  readonly matched: string
  readonly groups: readonly Schemas['FailureGroup'][]
  readonly problem: Problem | undefined
  readonly stop: () => void
  readonly again: () => void
}

type ScanState = Omit<Scan, 'stop' | 'again'>

const begun: ScanState = { state: 'RUNNING', read: '0', of: '0', matched: '0', groups: [], problem: undefined }

/** Scans while it is shown, and again for another filter. The topics hold no states, so that filter is left out. */
export function useScan(filter: FailureFilter, isOn: boolean): Scan {
  const [state, setState] = useState<ScanState>(begun)
  const [running, setRunning] = useState<AbortController | undefined>(undefined)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    if (!isOn) return undefined
    const own = new AbortController()
    setRunning(own)
    setState(begun)
    void read(filter, own.signal, (change) => {
      if (!own.signal.aborted) setState((before) => ({ ...before, ...change(before) }))
    })
    return () => own.abort()
  }, [isOn, JSON.stringify(filter), attempt])
  return {
    ...state,
    stop: () => {
      running?.abort()
      setState((before) => ({ ...before, state: 'STOPPED' }))
    },
    again: () => setAttempt(attempt + 1),
  }
}

async function read(
  filter: FailureFilter,
  signal: AbortSignal,
  change: (of: (before: ScanState) => Partial<ScanState>) => void,
): Promise<void> {
  try {
    const { path } = wireRequest('scanDeadLetters', { query: { ...queryOf(filter), state: undefined } })
    for await (const { event, data } of stream({ path }, { signal })) {
      const value: unknown = JSON.parse(data)
      if (event === 'progress') change(() => value as Pick<Scan, 'read' | 'of' | 'matched'>)
      if (event === 'group') {
        const group = value as Schemas['FailureGroup']
        change(({ groups }) => ({ groups: [...groups, group] }))
      }
      if (event === 'end') {
        const { read: all, matched } = value as Pick<Scan, 'read' | 'matched'>
        return change(() => ({ state: 'DONE', read: all, matched }))
      }
    }
    change(() => ({ state: 'STOPPED' }))
  } catch (error) {
    if (!isAbort(error)) change(() => ({ state: 'FAILED', problem: problemOf(error) }))
  }
}
