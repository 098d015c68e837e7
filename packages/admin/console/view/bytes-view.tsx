import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { bytesOf, hexLines } from '../format/hex-lines.ts'
import { inertParts } from '../format/inert-text.ts'
import { indented, jsonTokens } from '../format/json-tokens.ts'
import { size } from '../format/number.ts'
import { text } from '../text/parts.ts'
import { CopyButton } from './copy-button.tsx'

/** Bytes of a record or a row, as the API shows them. */
export type ByteView =
  | {
      readonly encoding: string
      readonly text: string
      readonly bytes: number
      readonly truncated?: boolean | undefined
    }
  | { readonly hidden: boolean; readonly bytes: number }

/** A text of a stranger: what would change how it reads is named, never drawn. */
export function Inert({ children }: { readonly children: string }): JSX.Element {
  return (
    <>
      {inertParts(children).map((part, at) =>
        part.code === undefined ? (
          part.text
        ) : (
          <span key={at} class="control" title={part.code}>
            {part.code}
          </span>
        ),
      )}
    </>
  )
}

/** Bytes on one line: a key, the value of a header, a message. */
export function ShortBytes({
  value,
  max = 200,
}: {
  readonly value: ByteView | null | undefined
  readonly max?: number
}): JSX.Element {
  if (value === null || value === undefined) return <span class="unknown">–</span>
  if ('hidden' in value) return <HiddenBytes bytes={value.bytes} />
  if (value.encoding !== 'utf8')
    return (
      <code title={text.notText}>
        base64 {value.text.slice(0, max)}
        {value.text.length > max ? '…' : ''}
      </code>
    )
  return (
    <code>
      <Inert>{value.text.length > max ? `${value.text.slice(0, max)}…` : value.text}</Inert>
    </code>
  )
}

/** Bytes that the operator may not see. */
export function HiddenBytes({ bytes }: { readonly bytes: number }): JSX.Element {
  return (
    <span class="hidden-bytes" title={text.needsPayloads}>
      <span aria-hidden="true">▒▒▒</span> {size(bytes)}
      <span class="visually-hidden"> {text.needsPayloads}</span>
    </span>
  )
}

/** The ways to look at bytes. */
export const byteModes = ['decoded', 'raw', 'hex'] as const

/** One of the ways. */
export type ByteMode = (typeof byteModes)[number]

const hexPage = 64
/** Each colored token is an element of the page; the rest of a long value is one text. */
const maxColored = 4_000

/** Bytes, decoded for reading, as they are, or in hexadecimal. Nothing is parsed and written again. */
export function BytesView({
  value,
  label,
  mode,
  onMode,
}: {
  readonly value: ByteView
  /** The name of the bytes: "Payload". */
  readonly label: string
  readonly mode: ByteMode
  readonly onMode: (mode: ByteMode) => void
}): JSX.Element {
  if ('hidden' in value)
    return (
      <p class="hidden-payload">
        <HiddenBytes bytes={value.bytes} /> <span class="muted">{text.needsPayloads}</span>
      </p>
    )
  return (
    <section class="bytes" aria-label={label}>
      <div class="bytes-head">
        <div class="segments" role="group" aria-label={text.viewAs}>
          {byteModes.map((one) => (
            <button key={one} type="button" aria-pressed={one === mode} onClick={() => onMode(one)}>
              {text.byteModes[one]}
            </button>
          ))}
        </div>
        <span class="muted">
          {size(value.bytes)}
          {value.truncated === true ? ` · ${text.truncated}` : ''}
        </span>
        <CopyButton text={value.text} label={value.encoding === 'utf8' ? text.copyText : text.copyBase64}>
          {value.encoding === 'utf8' ? text.copy : text.copyBase64}
        </CopyButton>
      </div>
      {mode === 'hex' ? <Hex value={value} /> : mode === 'decoded' ? <Decoded value={value} /> : <Raw value={value} />}
    </section>
  )
}

type ShownBytes = Extract<ByteView, { readonly text: string }>

function Raw({ value }: { readonly value: ShownBytes }): JSX.Element {
  return (
    <pre class="payload wrap" tabIndex={0}>
      <Inert>{value.text}</Inert>
    </pre>
  )
}

function Decoded({ value }: { readonly value: ShownBytes }): JSX.Element {
  const tokens = useMemo(
    () => (value.encoding === 'utf8' ? jsonTokens(value.text) : undefined),
    [value.text, value.encoding],
  )
  if (value.encoding !== 'utf8') return <Hex value={value} />
  if (tokens === undefined) return <Raw value={value} />
  const shown = indented(tokens)
  const rest = shown.slice(maxColored)
  return (
    <pre class="payload wrap" tabIndex={0}>
      {shown.slice(0, maxColored).map(({ kind, text: token }, at) =>
        kind === 'space' ? (
          token
        ) : (
          <span key={at} class={`json-${kind}`}>
            <Inert>{token}</Inert>
          </span>
        ),
      )}
      {rest.length === 0 ? null : <Inert>{rest.map(({ text: token }) => token).join('')}</Inert>}
    </pre>
  )
}

function Hex({ value }: { readonly value: ShownBytes }): JSX.Element {
  const [page, setPage] = useState(0)
  const bytes = useMemo(() => bytesOf(value), [value.text, value.encoding])
  const pages = Math.max(1, Math.ceil(bytes.length / (hexPage * 16)))
  return (
    <>
      <pre class="payload hex" tabIndex={0}>
        {hexLines(bytes, page * hexPage * 16, hexPage).map(({ offset, hex, text: line }) => (
          <div key={offset}>
            <span class="muted">{offset}</span>
            {'  '}
            {hex.padEnd(49)}
            {'  '}
            <span class="muted">{line}</span>
          </div>
        ))}
      </pre>
      {pages > 1 ? (
        <p class="pager">
          <button type="button" disabled={page === 0} onClick={() => setPage(page - 1)}>
            {text.previous}
          </button>
          <span class="figure">
            {page + 1} / {pages}
          </span>
          <button type="button" disabled={page === pages - 1} onClick={() => setPage(page + 1)}>
            {text.next}
          </button>
        </p>
      ) : null}
    </>
  )
}
