import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { base } from '../api/client.ts'
import { curlOf, type RequestOf, type RouteName, wireRequest } from '../api/request.ts'
import { after } from '../state/clock.ts'
import { announce } from './announcer.tsx'

/** Copies a text. */
export function CopyButton({
  text,
  label,
  children,
}: {
  readonly text: string
  /** The name for screen readers: "Copy the id o-17". */
  readonly label: string
  readonly children?: string
}): JSX.Element {
  const [isDone, setDone] = useState(false)
  useEffect(() => (isDone ? after(1_500, () => setDone(false)) : undefined), [isDone])
  const copy = async (): Promise<void> => {
    await copyText(text)
    setDone(true)
    announce('Copied')
  }
  return (
    <button type="button" class="quiet copy" aria-label={label} title={label} onClick={() => void copy()}>
      {isDone ? '✓' : (children ?? <CopyIcon />)}
    </button>
  )
}

/** Drawn, because few system fonts have such a character. */
function CopyIcon(): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <path
        d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3"
        fill="none"
        stroke="currentColor"
        stroke-width="1.2"
        stroke-linejoin="round"
      />
    </svg>
  )
}

/** Copies the request behind what is shown, as a command line. */
export function CopyCurl<R extends RouteName>({
  route,
  request,
  headers,
}: {
  readonly route: R
  readonly request: RequestOf<R>
  /** Headers that the request needs besides those of every request. */
  readonly headers?: Readonly<Record<string, string>>
}): JSX.Element {
  return (
    <CopyButton text={curlOf(wireRequest(route, request), base.href, headers)} label="Copy as curl">
      curl
    </CopyButton>
  )
}

/** Copies a text, also without https, where the clipboard's own interface is missing. */
export async function copyText(text: string): Promise<void> {
  if (window.isSecureContext && 'clipboard' in navigator) {
    const isCopied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
    if (isCopied) return
  }
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'visually-hidden'
  const before = document.activeElement
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
  if (before instanceof HTMLElement) before.focus()
}
