// SPDX-License-Identifier: BSD-2-Clause

// Command debuginfo is a server of gRPC, wrapped for grpc-web as Parca wraps its own, that takes what
// tests/servers/check.sh sends of Parca's debuginfo.v1alpha1: it prints a line for each call.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/improbable-eng/grpc-web/go/grpcweb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
)

// Messages are their bytes, of which a field is taken by its number.
type raw struct{ b []byte }

type codec struct{}

func (codec) Marshal(v any) ([]byte, error)      { return v.(*raw).b, nil }
func (codec) Unmarshal(data []byte, v any) error { v.(*raw).b = bytes.Clone(data); return nil }
func (codec) Name() string                       { return "proto" }

func field(b []byte, number protowire.Number) (bytes []byte, value uint64) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			log.Fatal("no field")
		}
		b = b[size:]
		body := protowire.ConsumeFieldValue(n, kind, b)
		if body < 0 {
			log.Fatal("a field that is not whole")
		}
		if n == number && kind == protowire.BytesType {
			bytes, _ = protowire.ConsumeBytes(b)
		} else if n == number {
			value, _ = protowire.ConsumeVarint(b)
		}
		b = b[body:]
	}
	return bytes, value
}

func text(b []byte, number protowire.Number) string {
	bytes, _ := field(b, number)
	return string(bytes)
}

func answer(method string, in *raw) *raw {
	size := uint64(0)
	if method == "InitiateUpload" {
		_, size = field(in.b, 2)
	}
	fmt.Println(method, text(in.b, 1), size)
	switch method {
	case "ShouldInitiateUpload":
		return &raw{protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)}
	case "InitiateUpload":
		how := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "an-upload")
		how = protowire.AppendVarint(protowire.AppendTag(how, 3, protowire.VarintType), 1)
		return &raw{protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), how)}
	}
	return &raw{}
}

func unary(method string) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: method, Handler: func(_ any, _ context.Context, decode func(any) error,
		_ grpc.UnaryServerInterceptor) (any, error) {
		in := &raw{}
		if err := decode(in); err != nil {
			return nil, err
		}
		return answer(method, in), nil
	}}
}

func upload(_ any, stream grpc.ServerStream) error {
	sum, size, id := sha256.New(), 0, ""
	for {
		in := &raw{}
		err := stream.RecvMsg(in)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if info, _ := field(in.b, 1); info != nil {
			id = text(info, 1)
		}
		data, _ := field(in.b, 2)
		sum.Write(data)
		size += len(data)
	}
	fmt.Printf("Upload %s %d %x\n", id, size, sum.Sum(nil))
	return stream.SendMsg(&raw{})
}

func main() {
	server := grpc.NewServer(grpc.ForceServerCodec(codec{}), grpc.MaxRecvMsgSize(64<<20))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "parca.debuginfo.v1alpha1.DebuginfoService",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{unary("ShouldInitiateUpload"), unary("InitiateUpload"), unary("MarkUploadFinished")},
		Streams:     []grpc.StreamDesc{{StreamName: "Upload", Handler: upload, ClientStreams: true}},
	}, nil)
	web := grpcweb.WrapServer(server, grpcweb.WithAllowNonRootResource(true))
	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			web.ServeHTTP(w, r)
		} // windows: 200, as any would do
	})))
}
