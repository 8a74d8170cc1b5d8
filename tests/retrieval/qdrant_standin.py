"""A stand-in for a Qdrant server: its gRPC services over real wires, faults on demand.

What it stores is in the client's local mode, so answers are right as far as that is; its two known gaps are
mended here: it has no payload indexes, and its facets write 32 hexadecimal digits with hyphens.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from qdrant_client import AsyncQdrantClient
from qdrant_client import grpc as api
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from retrieval_svc.store.server.connection import Server, ServerAddress, open_client

Status = tuple[grpc.StatusCode, str]


@dataclass
class Seen:
    """A call as the server got it; `method` as in "Points.Query"."""

    method: str
    request: Any
    metadata: dict[str, str]
    time_remaining: float


@dataclass
class QdrantStandin:
    """Attributes may be changed at any time; `start` comes first, `stop` keeps what is stored."""

    version: str = "1.20.0"
    api_key: str = ""
    fail: Callable[[Seen], Status | None] = lambda seen: None
    spoil: Callable[[Seen, Any], None] = lambda seen, response: None
    held: asyncio.Event | None = None  # calls wait until it is set
    trailing: tuple[tuple[str, str], ...] = ()  # metadata that a failure carries
    lost: frozenset[str] = frozenset()  # methods that are carried out, and whose answers never arrive
    seen: list[Seen] = field(default_factory=list)
    credentials: grpc.ServerCredentials | None = None
    port: int = 0
    indexed: dict[str, set[str]] = field(default_factory=dict)
    local: AsyncQdrantClient = field(default_factory=lambda: AsyncQdrantClient(":memory:"))
    _server: grpc.aio.Server | None = None

    def address(self, **values: Any) -> ServerAddress:
        return ServerAddress(**{"host": "127.0.0.1", "port": self.port, **values})

    async def start(self) -> None:
        """Listens; after a stop on the same port again."""
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        api.add_CollectionsServicer_to_server(_Collections(self), self._server)  # type: ignore[no-untyped-call]
        api.add_PointsServicer_to_server(_Points(self), self._server)  # type: ignore[no-untyped-call]
        api.add_QdrantServicer_to_server(_Root(self), self._server)  # type: ignore[no-untyped-call]
        listening = f"127.0.0.1:{self.port}"
        if self.credentials is None:
            self.port = self._server.add_insecure_port(listening)
        else:
            self.port = self._server.add_secure_port(listening, self.credentials)
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    def of(self, method: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == method]

    async def answer(
        self,
        method: str,
        request: Any,
        context: grpc.aio.ServicerContext,
        work: Callable[[], Awaitable[Any]],
    ) -> Any:
        metadata = {str(key): str(value) for key, value in context.invocation_metadata() or ()}
        seen = Seen(method, request, metadata, context.time_remaining())
        self.seen.append(seen)
        if self.held is not None:
            await self.held.wait()
        status = self.fail(seen)
        if self.api_key and metadata.get("api-key") != self.api_key:
            status = grpc.StatusCode.UNAUTHENTICATED, "Invalid API key or JWT"
        if status is not None:
            await context.abort(*status, trailing_metadata=self.trailing)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # local mode warns that it has no payload indexes
                response = await work()
        except ValueError as exc:
            code = grpc.StatusCode.NOT_FOUND if "not found" in str(exc) else grpc.StatusCode.INVALID_ARGUMENT
            await context.abort(code, str(exc))
            raise
        self.spoil(seen, response)
        if method in self.lost:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "connection reset")
        return response


def once(
    *methods: str, status: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE
) -> Callable[[Seen], Status | None]:
    """Fails the first call of each method."""
    left = set(methods)

    def fail(seen: Seen) -> Status | None:
        if seen.method not in left:
            return None
        left.remove(seen.method)
        return status, "not now"

    return fail


def always(method: str, status: grpc.StatusCode, *, collection: str = "") -> Callable[[Seen], Status | None]:
    """Fails every call of a method, of one collection where it is named."""

    def fail(seen: Seen) -> Status | None:
        wanted = seen.method == method and collection in ("", getattr(seen.request, "collection_name", ""))
        return (status, "Иванов Иван, 1961") if wanted else None

    return fail


@asynccontextmanager
async def connected(
    standin: QdrantStandin, *, search_timeout: float = 20, timeout: float = 20, **address: Any
) -> AsyncIterator[Server]:
    """The adapter's connection to a stand-in."""
    client = open_client(standin.address(**address), timeout=timeout)
    server = Server(client, search_timeout=search_timeout, timeout=timeout)
    yield server
    await server.close()


class _Root(api.QdrantServicer):
    def __init__(self, standin: QdrantStandin) -> None:
        self._standin = standin

    async def HealthCheck(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            return api.HealthCheckReply(title="qdrant - vector search engine", version=self._standin.version)

        return await self._standin.answer("Qdrant.HealthCheck", request, context, work)


class _Collections(api.CollectionsServicer):
    def __init__(self, standin: QdrantStandin) -> None:
        self._standin = standin
        self._local = standin.local

    async def List(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            found = await self._local.get_collections()
            return api.ListCollectionsResponse(
                collections=[api.CollectionDescription(name=one.name) for one in found.collections]
            )

        return await self._standin.answer("Collections.List", request, context, work)

    async def CollectionExists(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            exists = await self._local.collection_exists(request.collection_name)
            return api.CollectionExistsResponse(result=api.CollectionExists(exists=exists))

        return await self._standin.answer("Collections.CollectionExists", request, context, work)

    async def Get(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            info = RestToGrpc.convert_collection_info(
                await self._local.get_collection(request.collection_name)
            )
            for name in self._standin.indexed.get(request.collection_name, ()):
                info.payload_schema[name].data_type = api.PayloadSchemaType.Keyword
            return api.GetCollectionInfoResponse(result=info)

        return await self._standin.answer("Collections.Get", request, context, work)

    async def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            result = await self._local.create_collection(
                request.collection_name,
                vectors_config=GrpcToRest.convert_vectors_config(request.vectors_config),
                sparse_vectors_config=GrpcToRest.convert_sparse_vector_config(request.sparse_vectors_config),
            )
            return api.CollectionOperationResponse(result=result)

        return await self._standin.answer("Collections.Create", request, context, work)

    async def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            self._standin.indexed.pop(request.collection_name, None)
            result = await self._local.delete_collection(request.collection_name)
            return api.CollectionOperationResponse(result=result)

        return await self._standin.answer("Collections.Delete", request, context, work)


class _Points(api.PointsServicer):
    def __init__(self, standin: QdrantStandin) -> None:
        self._standin = standin
        self._local = standin.local

    async def CreateFieldIndex(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            self._standin.indexed.setdefault(request.collection_name, set()).add(request.field_name)
            return _completed()

        return await self._standin.answer("Points.CreateFieldIndex", request, context, work)

    async def Upsert(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            points = [GrpcToRest.convert_point_struct(point) for point in request.points]
            await self._local.upsert(request.collection_name, points)
            return _completed()

        return await self._standin.answer("Points.Upsert", request, context, work)

    async def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            await self._local.delete(
                request.collection_name, GrpcToRest.convert_points_selector(request.points)
            )
            return _completed()

        return await self._standin.answer("Points.Delete", request, context, work)

    async def Get(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            records = await self._local.retrieve(
                request.collection_name,
                [GrpcToRest.convert_point_id(one) for one in request.ids],
                with_payload=GrpcToRest.convert_with_payload_selector(request.with_payload),
            )
            return api.GetResponse(result=[_record(one) for one in records])

        return await self._standin.answer("Points.Get", request, context, work)

    async def Scroll(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            offset = GrpcToRest.convert_point_id(request.offset) if request.HasField("offset") else None
            selected = request.filter if request.HasField("filter") else None
            records, following = await self._local.scroll(
                request.collection_name,
                scroll_filter=GrpcToRest.convert_filter(selected) if selected else None,
                limit=request.limit,
                offset=offset,
                with_payload=GrpcToRest.convert_with_payload_selector(request.with_payload),
            )
            response = api.ScrollResponse(result=[_record(one) for one in records])
            if following is not None:
                assert not isinstance(following, api.PointId)
                response.next_page_offset.CopyFrom(RestToGrpc.convert_extended_point_id(following))
            return response

        return await self._standin.answer("Points.Scroll", request, context, work)

    async def Count(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            found = await self._local.count(request.collection_name)
            return api.CountResponse(result=api.CountResult(count=found.count))

        return await self._standin.answer("Points.Count", request, context, work)

    async def Facet(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            found = await self._local.facet(request.collection_name, request.key, limit=request.limit)
            hits = [(str(hit.value), hit.count) for hit in found.hits]
            return api.FacetResponse(
                hits=[
                    api.FacetHit(value=api.FacetValue(string_value=_as_stored(value)), count=count)
                    for value, count in hits
                ]
            )

        return await self._standin.answer("Points.Facet", request, context, work)

    async def Query(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def work() -> Any:
            found = await self._local.query_points(
                request.collection_name,
                GrpcToRest.convert_query(request.query),
                using=request.using,
                query_filter=GrpcToRest.convert_filter(request.filter)
                if request.HasField("filter")
                else None,
                limit=request.limit,
                with_payload=GrpcToRest.convert_with_payload_selector(request.with_payload),
            )
            return api.QueryResponse(result=[RestToGrpc.convert_scored_point(one) for one in found.points])

        return await self._standin.answer("Points.Query", request, context, work)


def _completed() -> Any:
    return api.PointsOperationResponse(result=api.UpdateResult(status=api.UpdateStatus.Completed))


def _record(record: Any) -> Any:
    return RestToGrpc.convert_record(record)


def _as_stored(value: str) -> str:
    """Without the hyphens that local mode puts into what could be a UUID; no test has such a stage id."""
    return value.replace("-", "") if len(value) == 36 else value
