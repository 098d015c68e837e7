/** A request that a client may repeat, identified by its caller and key. */
export interface IdentifiedRequest {
  readonly caller: string
  readonly key: string | null
  readonly fingerprint: string
}

/** The steps of a request that runs once. */
export interface RequestSteps<T> {
  create(request: IdentifiedRequest): Promise<T>
  referenceOf(result: T): string
  load(reference: string): Promise<T | null>
  find(request: IdentifiedRequest): Promise<T | null>
  isDuplicate(error: unknown): boolean
}

/** Runs a request with a key once, and returns its first result to each repeat. */
export interface Requests {
  run<T>(
    request: { readonly caller: string; readonly key: string | null | undefined; readonly body: unknown },
    steps: RequestSteps<T>,
  ): Promise<{ readonly result: T; readonly isReplay: boolean }>
}
