/** Keys of the page. Each is listed in the help sheet. */

import { type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { after } from './clock.ts'
import { settings } from './settings.ts'

/** A key, or two after each other: `j`, `g o`. */
export interface KeyBinding {
  readonly keys: string
  readonly label: string
  readonly run: () => void
}

/** Keys that belong together. */
export interface KeyScope {
  readonly title: string
  readonly bindings: readonly KeyBinding[]
}

const active = signal<readonly KeyScope[]>([])

/** The scopes that work now, the newest last. */
export const keyScopes: ReadonlySignal<readonly KeyScope[]> = active

/** Adds keys. Returns the function that removes them. */
export function addKeys(scope: KeyScope): () => void {
  active.value = [...active.peek(), scope]
  return () => {
    active.value = active.peek().filter((one) => one !== scope)
  }
}

/** Adds keys while a component is shown. */
export function useKeys(title: string, bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings)
  latest.current = bindings
  useEffect(() => {
    const own = bindings.map(({ keys, label }) => ({
      keys,
      label,
      run: () => latest.current.find((one) => one.keys === keys)?.run(),
    }))
    return addKeys({ title, bindings: own })
  }, [title, bindings.map(({ keys }) => keys).join(',')])
}

const prefixMs = 1_500
let prefix = ''
let stopPrefix: (() => void) | undefined

/** Follows the keyboard. */
export function startKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (settings.keys.value === 'off' || event.defaultPrevented) return
    if (event.ctrlKey || event.metaKey || event.altKey || takesText(event.target)) return
    // A dialog has keys of its own.
    if (document.querySelector('dialog[open]') !== null) return
    const typed = prefix === '' ? event.key : `${prefix} ${event.key}`
    const found = find(typed) ?? find(event.key)
    clearPrefix()
    if (found !== undefined) {
      event.preventDefault()
      found.run()
    } else if (active.value.some(({ bindings }) => bindings.some(({ keys }) => keys.startsWith(`${event.key} `)))) {
      prefix = event.key
      stopPrefix = after(prefixMs, clearPrefix)
    }
  })
}

function find(typed: string): KeyBinding | undefined {
  for (const { bindings } of active.value.toReversed()) {
    const found = bindings.find(({ keys }) => keys === typed)
    if (found !== undefined) return found
  }
  return undefined
}

function clearPrefix(): void {
  stopPrefix?.()
  prefix = ''
}

function takesText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}
